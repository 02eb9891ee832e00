"""libFuzzer (atheris) on the files of a bundle: guided by coverage of the reader, hashes corrected.

    python tests/fuzz/fuzz_bundle_files.py [libFuzzer options] tests/fuzz/corpus/bundle

The first byte of an input says which file the rest replaces (description, graph, golden vectors, signature). Whatever it
is, the bundle loads or is refused with a `BundleError` that is a printable sentence.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from pathlib import Path
from types import FunctionType

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rt_runtime.bundle import checks, files, golden, graph, plan, read, rom, signature
from rt_runtime.errors import BundleError
from tests.fuzz.bundle_mutations import correct_hashes
from tests.fuzz.fuzz_bundles import sentence_problem

SEED = Path(__file__).parents[1] / "fixtures" / "bundle_0_1_single.zip"
NAMES = ("bundle.json", "net.onnx", "net.golden.npz", "bundle.sig")
PLACE = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)) / "bundle.zip"

with zipfile.ZipFile(SEED) as archive:
    ORIGINAL = {name: archive.read(name) for name in archive.namelist()}


def instrument() -> None:
    """Count the branches of the reader (an editable install has its own loader, which atheris does not instrument)."""
    for module in (checks, files, golden, graph, plan, read, rom, signature):
        kinds = [
            kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__
        ]
        for owner in (module, *kinds):
            for one in list(vars(owner).values()):
                if isinstance(one, FunctionType) and one.__module__ == module.__name__:
                    atheris.instrument_func(one)


def one_input(data: bytes) -> None:
    """Replace one file of the bundle and load it."""
    if not data:
        return
    changed = dict(ORIGINAL)
    changed[NAMES[data[0] % len(NAMES)]] = data[1:]
    correct_hashes(changed)
    with zipfile.ZipFile(PLACE, "w") as target:
        for name, content in changed.items():
            target.writestr(name, content)
    try:
        rom.load_bundle(PLACE)
    except BundleError as error:
        problem = sentence_problem(str(error))
        if problem is not None:
            raise AssertionError(f"{problem}: {str(error)[:300]!r}") from None


if __name__ == "__main__":
    if sys.argv[1:2] == ["--seeds"]:  # write the corpus anew
        for number, name in enumerate(NAMES[:3]):
            Path(sys.argv[2], name).write_bytes(bytes([number]) + ORIGINAL[name])
        sys.exit()
    instrument()
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
