"""Mutation fuzzer for the bundle reader: every case ends in a loaded bundle or in one printable sentence.

    python tests/fuzz/fuzz_bundles.py --cases 20000 [--seed 0] [--first 0]

Each case must take less than 5 s of CPU and must not raise the memory of the process by more than 500 MB. A case that
does not is printed with its number, from which it can be repeated: --first NUMBER --cases 1.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import faulthandler
import random
import re
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from export import write
from hmor.views.bundle import bundle_text
from rt_runtime import load_bundle
from rt_runtime.bundle.read import read_bundle
from rt_runtime.errors import BundleError
from tests.contract.reduced_models import hysteresis
from tests.fuzz.bundle_mutations import Files, mutated, packed
from tests.reference.exported_models import network_with_memory, polynomial, sparse_polynomial
from tests.reference.gated_memories import MODELS as GATED

SECONDS = 5.0
MEGABYTES = 500.0
LONGEST = 1500  # characters of a line of a refusal


def originals(place: Path) -> list[Files]:
    """Write small bundles of every kind and return their files."""
    sets = [
        {"front": network_with_memory(), "rear": polynomial(4)},
        {"sparse": sparse_polynomial()},
        {"gated": GATED["state"](), "hysteresis": hysteresis("tangent", lags=2)},
    ]
    found = []
    for i, models in enumerate(sets):
        folder = write(models, place / str(i), targets=("onnx", "c") if i == 1 else ("onnx",)).path
        found.append({p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()})
    return found


def peak_megabytes(reset: bool = False) -> float:
    """Return the largest resident size since the last reset (of the process, where the host cannot reset it)."""
    if reset:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def sentence_problem(text: str) -> str | None:
    """Say why a refusal is no printable sentence; None when it is one."""
    if not all(c.isprintable() or c == "\n" for c in text):
        return "it has characters that are not printable"
    if not text.strip().endswith("."):
        return "it does not end with a full stop"
    longest = max(map(len, text.split("\n")))
    return f"it has a line of {longest} characters" if longest > LONGEST else None


def one_case(number: int, seed: int, sources: list[Files], place: Path) -> tuple[str, str | None]:
    """Run a case; return how it ended and what is wrong with that, or None."""
    rng = random.Random(f"{seed}/{number}")
    files = mutated(rng, rng.choice(sources))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile warns of a name that is written twice
        path = packed(rng, files, place)
    before = peak_megabytes(reset=True)
    begun = time.process_time()
    problem = None
    try:
        text = bundle_text(load_bundle(path).bundle)
        ended = "loaded"
        if not all(c.isprintable() or c in "\n\t" for c in text):
            problem = "hmor info would print characters that are not printable"
    except BundleError as error:
        ended = "refused"
        problem = sentence_problem(str(error))
        problem = problem and f"{problem}: {str(error)[:300]!r}"
    except Exception:
        ended, problem = "traceback", traceback.format_exc()
    seconds, grown = time.process_time() - begun, peak_megabytes() - before
    if seconds > SECONDS:
        problem = f"{problem or ''} it took {seconds:.1f} s of CPU"
    if grown > MEGABYTES:
        problem = f"{problem or ''} it took {grown:.0f} MB"
    return ended, problem


def cases(first: int, count: int, seed: int) -> Iterator[tuple[int, str, str | None]]:
    """Run cases one after the other: (number, how it ended, problem)."""
    with tempfile.TemporaryDirectory() as folder:
        sources = originals(Path(folder) / "originals")
        for files in sources:  # what is not changed must load, or nothing is tested
            clean = Path(folder) / "clean"
            for name, content in files.items():
                (clean / name).parent.mkdir(parents=True, exist_ok=True)
                (clean / name).write_bytes(content)
            read_bundle(clean)
            load_bundle(clean)
            shutil.rmtree(clean)
        for number in range(first, first + count):
            place = Path(folder) / "case"
            place.mkdir()
            faulthandler.dump_traceback_later(120, exit=True)
            yield number, *one_case(number, seed, sources, place)
            shutil.rmtree(place)
        faulthandler.cancel_dump_traceback_later()


def main() -> int:
    """Run the cases and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=20, help="how many problems to print in full")
    options = parser.parse_args()
    faulthandler.enable()
    ends: collections.Counter[str] = collections.Counter()
    bad = 0
    begun = time.monotonic()
    for number, ended, problem in cases(options.first, options.cases, options.seed):
        ends[ended] += 1
        if problem is not None:
            bad += 1
            if bad <= options.show:
                print(f"case {number} of seed {options.seed} ({ended}): {problem}", flush=True)
    spent = time.monotonic() - begun
    print(f"{options.cases} cases in {spent:.0f} s: {dict(ends)}; {bad} with a problem")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
