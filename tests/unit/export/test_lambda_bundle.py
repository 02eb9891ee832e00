"""A lambda model in a bundle: its expansion on every engine, quantiles in closed form in C and in the loop."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from export import verify, write
from mor import BundleSubstructure, Dataset, Glam, HybridModel, ParameterSpace, Uniform, fit_glam
from mor.substructures import quantile_part
from rt_runtime import load_bundle

ASK = r"""
#include <stdio.h>
#include "law.h"
int main(void) {
  double u[2] = {0.3, 1.2}, y[4];
  law_step(u, 0, y);
  for (int i = 1; i < 10; i++) printf("%.17g\n", law_quantile(y, 0, 0.1 * i));
  return 0;
}
"""


@pytest.fixture(scope="module")
def glam() -> Glam:
    space = ParameterSpace({"a": Uniform(-1.0, 1.0, unit="m"), "b": Uniform(0.0, 2.0)})
    X = space.sample(200, seed=0)
    noise = np.random.default_rng(0).gamma(4.0, size=200)
    return fit_glam(
        Dataset(X, (X[:, 0] + np.exp(0.3 * X[:, 1]) * 0.1 * noise)[:, None], space.ports, {"y": "N"}), space
    )


def test_the_expansion_goes_to_every_engine(glam: Glam, tmp_path: Path) -> None:
    bundle = write(glam, tmp_path / "bundle", name="law", targets=("onnx", "c"))
    assert [p.name for p in bundle.models["law"].outputs] == ["y_lambda1", "y_ln_lambda2", "y_lambda3", "y_lambda4"]
    assert bundle.models["law"].kind == "pce"
    assert all(row.ok for row in verify(bundle, {"law": glam}) if not row.skipped)


def test_quantiles_in_c_are_those_of_the_model(glam: Glam, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    write(glam, tmp_path / "bundle", name="law", targets=("onnx", "c"))
    folder = tmp_path / "bundle" / "c"
    (tmp_path / "ask.c").write_text(ASK)
    program = tmp_path / "ask"
    subprocess.run(
        [
            compiler,
            "-std=c99",
            "-Wall",
            "-Werror",
            f"-I{folder}",
            tmp_path / "ask.c",
            folder / "law.c",
            "-lm",
            "-o",
            program,
        ],
        check=True,
    )
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    np.testing.assert_allclose(
        np.array(said, float), glam.quantile([[0.3, 1.2]], 0.1 * np.arange(1, 10))[0, 0], rtol=1e-12
    )


def test_a_random_specimen_in_the_core(glam: Glam, tmp_path: Path) -> None:
    """Exported expansion and closed form: nothing of it calls the interpreter."""
    write(glam, tmp_path / "bundle", name="law")
    expansion = BundleSubstructure("expansion", load_bundle(tmp_path / "bundle"), "law")
    test = HybridModel(
        "test",
        [expansion, quantile_part("specimen", glam.outputs[0])],
        dt=1e-2,
        duration=0.05,
        excitations={"a": 0.3, "b": 1.2},
        latent={"specimen.level": Uniform(0.0, 1.0)},
    )
    assert all(part.real_time for part in test.substructures.values())
    for level in (0.05, 0.5, 0.99):
        run = test.run(parameters={"specimen.level": level})
        assert run["y"][-1] == pytest.approx(float(glam.quantile([[0.3, 1.2]], level)[0, 0]), rel=1e-12)
    assert test.run(seed=1)["y"][0] != test.run(seed=2)["y"][0]
