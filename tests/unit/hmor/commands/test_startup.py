"""What starts with the command: little for --help; a missing extra or checkout is said in one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "numpy",
    "scipy",
    "xarray",
    "numba",
    "chaospy",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "torch",
    "rt_runtime",
    "mor",
)


def python(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd)


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["sample", "--help"]])
def test_help_imports_only_what_it_needs(arguments: list[str], tmp_path: Path) -> None:
    code = (
        f"import sys\nsys.argv = ['hmor', *{arguments}]\nfrom hmor.cli import main\n"
        f"try: main()\nexcept SystemExit: pass\nprint('loaded', *[m for m in {HEAVY} if m in sys.modules])"
    )
    done = python(code, tmp_path)
    assert done.stdout.splitlines()[-1] == "loaded", done.stderr


def test_a_missing_extra_is_one_sentence(tmp_path: Path) -> None:
    """Without torch and lightning everything but trainer = "adam" works."""
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "toy"\n[parts.toy]\ndata = "rows.nc"\n[parts.toy.models.ffnn]\nhidden = [2]\nrestarts = 1\niterations = 5\ntrainer = "lm"\n'
    )
    code = (
        "import sys\nsys.modules |= dict.fromkeys(['torch', 'lightning', 'lightning.pytorch', 'tensorboard'])\n"
        "import numpy as np\nfrom mor import Dataset\n"
        "x = np.random.default_rng(0).uniform(0, 1, (40, 1))\nDataset(x, x**2, {'a': ''}, {'b': ''}).save('rows.nc')\n"
        "from hmor.cli import main\nsys.argv = ['hmor', 'train', 'study.toml']\nmain()"
    )
    done = python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "study.toml").read_text()
    (tmp_path / "study.toml").write_text(text.replace('"lm"', '"adam"'))
    done = python(code, tmp_path)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert (
        "hmor: trainer 'adam' needs torch and lightning" in done.stderr and "install hybrid-mor[train]" in done.stderr
    )
