"""The wheel in a fresh environment outside the checkout, without extras: what a user gets from `pip install`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from export import write
from tests.reference.exported_models import network

ROOT = Path(__file__).resolve().parents[2]
RUN_A_BUNDLE = """
import sys
from rt_runtime import Loop, Table, load_bundle
bundle = load_bundle(sys.argv[1])
loop = Loop(1000.0)
for name, unit in {"F_br": "N", "w_rw": "rad/s", "tau_rw": "N m"}.items():
    loop.signal(name, unit=unit)
loop.add("force", Table([0.0, 1.0], [[10.0, 60.0], [40.0, 20.0]]), outputs=["F_br", "w_rw"])
loop.add("brake", bundle.block("rear_brake"), inputs=["F_br", "w_rw"], outputs=["tau_rw"])
record = loop.run(1.0)
print(len(record["tau_rw"]), float(record["tau_rw"][-1]))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel and its own requirements, nothing of this one."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = ["-m", "pip", "--quiet", "--quiet", "--disable-pip-version-check"]
    build = [sys.executable, *pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, timeout=500)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)
    wheel = next(folder.glob("hybrid_mor-*.whl"))
    install = [
        str(folder / "env/bin/python"),
        *pip,
        "install",
        "--constraint",
        str(ROOT / "constraints.txt"),
        str(wheel),
    ]
    subprocess.run(install, check=True, timeout=500)
    return folder / "env"


def run(environment: Path, cwd: Path, *command: str) -> subprocess.CompletedProcess[str]:
    variables = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    program = str(environment / "bin" / command[0])
    return subprocess.run([program, *command[1:]], cwd=cwd, env=variables, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_wheel_works_outside_the_checkout_without_extras(environment: Path, tmp_path: Path) -> None:
    installed = run(environment, tmp_path, "python", "-m", "pip", "list", "--format", "json")
    names = {package["name"].lower() for package in json.loads(installed.stdout)}
    assert names.isdisjoint({"torch", "lightning", "chaospy", "numpoly", "pytest", "cmake"})

    for command in (
        ["hmor", "--help"],
        ["hmor", "studies"],
        ["hmor", "simulate", "frame_mr_damper", "--json"],
        ["hmor", "run", "spring_test", "--unpaced", "--json"],
        ["hmor", "new", "bridge", "--from", "viaduct"],
    ):
        done = run(environment, tmp_path, *command)
        assert done.returncode == 0, done.stderr

    model = network()
    write(model, tmp_path / "brakes", name="rear_brake")
    done = run(environment, tmp_path, "hmor", "info", "brakes")
    assert done.returncode == 0 and "tau_rw" in done.stdout, done.stderr
    (tmp_path / "run.py").write_text(RUN_A_BUNDLE)
    done = run(environment, tmp_path, "python", "run.py", "brakes")
    assert done.returncode == 0, done.stderr
    rows, last = done.stdout.split()
    at_the_end = [10.0 + 30.0 * 0.999, 60.0 - 40.0 * 0.999]  # tick 999 of 1000
    assert int(rows) == 1000 and float(last) == pytest.approx(model.predict([at_the_end])[0, 0], rel=1e-9)

    done = run(environment, tmp_path, "hmor", "bench", "engine")
    assert done.returncode != 0 and "checkout" in done.stderr and "Traceback" not in done.stderr
    done = run(environment, tmp_path, "python", "-c", "from mor import Uniform; Uniform(0, 1).distribution")
    assert "install hybrid-mor[chaospy]" in done.stderr
    done = run(environment, tmp_path, "python", "-c", "import training.trainers.adam")
    assert "install hybrid-mor[train]" in done.stderr
