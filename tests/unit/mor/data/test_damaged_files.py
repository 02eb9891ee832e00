"""Every file we write, damaged in every usual way, is refused with one printable sentence or read; never a traceback."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmor.commands.info import describe
from mor import Dataset, ParameterSpace, Store, Trajectory, Uniform, lhs, run_design
from mor.excitation.records import load_at2, load_csv
from mor.reduced.base import ReducedModel
from rt_runtime import Loop, RunFolder, Table
from rt_runtime.engine.records.record import Record
from rt_runtime.engine.records.run_folder import load_run
from rt_runtime.errors import ConfigError
from rt_runtime.files import read_json, reading
from tests.reference.exported_models import network, network_with_memory, polynomial
from training.trainers.checkpoint import claim, load_state, save_state
from training.trainers.levenberg import State


def double(k: float) -> dict[str, float]:
    return {"y": 2.0 * k}


def write_store(path: Path) -> None:
    run_design(double, lhs(ParameterSpace({"k": Uniform(0.0, 1.0)}), 5, seed=1), store=path, executor="serial")


def write_run(path: Path) -> None:
    loop = Loop(100.0)
    loop.signal("x", unit="m")
    loop.add("table", Table([0.0, 1.0], [0.0, 1.0]), outputs=["x"])
    loop.run(0.1, folder=RunFolder(path, study="", bundles={}))


def write_state(path: Path) -> None:
    fields = State.__dataclass_fields__
    save_state(path, State(**{name: np.zeros(3) if name == "theta" else 0 for name in fields}))


DATA = Dataset([[0.0], [1.0]], [[1.0], [3.0]], {"x": "m"}, {"y": "N"}, run=[0, 1])
KINDS: dict[str, tuple[Callable[[Path], Any], Callable[[Path], Any]]] = {
    "data.nc": (DATA.save, Dataset.load),
    "data.csv": (DATA.to_csv, Dataset.from_csv),
    "trajectory.nc": (Trajectory([0.0, 0.1], [[1.0], [2.0]], {"x": "m"}).save, Trajectory.load),
    "net.npz": (network().save, ReducedModel.load),
    "memory.npz": (network_with_memory().save, ReducedModel.load),
    "pce.npz": (polynomial(3).save, ReducedModel.load),
    "record.csv": (lambda p: p.write_text("t,a\n0.0,1.0\n0.1,2.0\n0.2,0.5\n"), load_csv),
    "record.at2": (lambda p: p.write_text("PEER\nNPTS= 3, DT= .01 SEC\n 0.1 0.2 0.3\n"), load_at2),
    "state.npz": (write_state, load_state),
    "store": (write_store, lambda p: (Store(p).summary(), Store(p).dataset(), list(Store(p).trajectories()))),
    "run": (write_run, lambda p: (load_run(p), describe(p))),
}  # fmt: skip


def damages(content: bytes, rng: random.Random) -> list[bytes]:
    """The usual damages of one file: empty, cut, overwritten, another encoding, another file."""
    half = len(content) // 2
    spots = [bytearray(content) for _ in range(12)]
    for spot in spots:
        for _ in range(rng.choice((1, 4))):
            spot[rng.randrange(len(spot))] = rng.randrange(256)
    return [
        b"", b"\0" * 200, content[:1], content[:half], content[:-1], content + b"\xff", b"\xff\xfe" + content, content[half:],
        content[:half] + b"\0" * 64 + content[half + 64 :], content.decode("latin-1").encode("utf-16"), b"[" * 3000,
        b'{"format": 1}', b"[]", b"null", "\u00e9,\u00fc\n".encode("latin-1") * 20, b"PK\x03\x04" + content, *map(bytes, spots),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("originals")
    for name, (write, _) in KINDS.items():
        write(place / name)
    return place


@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_file_is_refused_in_words(name: str, originals: Path, tmp_path: Path) -> None:
    read = KINDS[name][1]
    read(originals / name)
    copy = tmp_path / name
    rng = random.Random(name)
    inner = (
        [Path()]
        if (originals / name).is_file()
        else sorted(p.relative_to(originals / name) for p in (originals / name).rglob("*") if p.is_file())
    )
    refused = 0
    for part in inner:
        for content in damages((originals / name / part).read_bytes() or b"x", rng):
            if (originals / name).is_dir():
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(originals / name, copy)
            (copy / part).write_bytes(content)
            with contextlib.suppress(OSError):  # told by the command as it is
                refused += is_refused(read, copy)
    assert refused >= 8


def is_refused(read: Callable[[Path], Any], path: Path) -> bool:
    """Read what is at `path`; True when it is refused in a sentence."""
    error = None
    try:
        read(path)
    except ConfigError as refusal:
        error = str(refusal)
    assert error is None or (error.endswith(".") and len(error) < 1000)
    return error is not None


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("design"),
        lambda d: d.update(design=[]),
        lambda d: d["design"].update(file="../../etc/passwd"),
        lambda d: d["design"].update(file=3),
        lambda d: d["design"].update(made=None),
        lambda d: d["design"].update(space={"k": {"law": "none"}}),
        lambda d: d.update(model=None),
        lambda d: d.update(outputs=3),
        lambda d: d.update(outputs=[["y"]]),
    ],
)
def test_a_campaign_with_wrong_values_is_refused(
    change: Callable[[dict[str, Any]], Any], originals: Path, tmp_path: Path
) -> None:
    store = Path(shutil.copytree(originals / "store", tmp_path / "store"))
    campaign = json.loads((store / "campaign.json").read_text())
    change(campaign)
    (store / "campaign.json").write_text(json.dumps(campaign))
    with pytest.raises(ConfigError, match=r"[Ss]tore .*store"):
        Store(store).summary()


@pytest.mark.parametrize(
    "record",
    [b"{}", b"[]", b"3", b'{"sample": "a"}', b'{"sample": 0, "seconds": 1}', b'{"sample": 0, "seconds": "x", "outputs": {}}',
     b'{"sample": 0, "seconds": 1, "failed": {}}', b'{"sample": 0, "seconds": 1, "outputs": {"y": "x"}}', b"\xff", b"{" * 9000],
)  # fmt: skip
def test_a_record_of_the_journal_that_is_none_counts_as_damaged(record: bytes, originals: Path, tmp_path: Path) -> None:
    """Even where its checksum is right."""
    store = Path(shutil.copytree(originals / "store", tmp_path / "store"))
    with (store / "journal.log").open("ab") as file:
        file.write(b"%08x %s\n" % (zlib.crc32(record), record))
    found = Store(store)
    assert found.damaged == 1 and len(found.finished) == 5
    assert "damaged   1 lines" in found.summary() and len(found.dataset()) == 5


def test_settings_of_a_fit_that_are_none(tmp_path: Path) -> None:
    claim(tmp_path, {"a": 1}, resume=False)
    (tmp_path / "fit.json").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"must be UTF-8 text, byte 0 is not; delete the folder or use another one"):
        claim(tmp_path, {"a": 1}, resume=True)


def test_a_record_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "data.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + b"\0" * 100)
    with pytest.raises(ConfigError, match=r"Record file .* must be netCDF"):
        Record.load(tmp_path / "data.nc")


def test_what_is_wrong_with_a_file_is_said_in_one_printable_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[1]")
    with pytest.raises(ConfigError, match="File x must be a JSON object, got a list; it is damaged"):
        read_json(tmp_path / "x.json", "File x")
    with (
        pytest.raises(ConfigError, match=r"^File x cannot be read \(ValueError \\x1b\[31m\); mend it\.$"),
        reading("File x", "mend it"),
    ):
        raise ValueError("\x1b[31m")
    with pytest.raises(ConfigError, match=r"^as it is$"), reading("File x"):
        raise ConfigError("as it is")
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "none.json", "File x")
