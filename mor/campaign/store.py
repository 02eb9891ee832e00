"""A folder that keeps a campaign: its design, its model's identity, and every finished sample.

campaign.json       format, model identity, outputs, how the design was made, which design file counts
design-<hash>.nc    points in the unit cube and, up to 100 000, in physical units
journal.log         one checked line per finished or failed sample, appended and flushed before it is reported
numbers.bin         checked blocks of finished samples that came in many at a time, appended and flushed likewise
runs/000012.nc      trajectory of a sample
results.nc          parameters and outputs of all finished samples, written at the end of each campaign up to 100 000
lock                who is writing
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mor.campaign.blocks import BlockFile, Numbers
from mor.campaign.journal import Journal, read_journal, store_errors, tells_a_sample
from mor.campaign.lock import locked
from mor.campaign.model import Evaluable, Failure, Outcome, outputs_of, plain_identity
from mor.campaign.workers.chunk import FEW, Batch, Block
from mor.data.dataset import Dataset
from mor.data.netcdf import read_netcdf, write_netcdf
from mor.data.ports import Port
from mor.data.trajectory import Trajectory
from mor.sampling.designs import Design
from mor.sampling.space import ParameterSpace, text_table
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError
from rt_runtime.files import read_json, reading, write_file

if TYPE_CHECKING:
    import xarray

FORMAT = 2
READ = (1, 2)  # 1 had no blocks
SMALL = 100_000  # samples; larger stores keep every number once, without copies for other programs


@dataclass(frozen=True)
class FailedSample:
    """A sample without result: its number, its parameters and why."""

    index: int
    parameters: dict[str, float]
    failure: Failure


class Store:
    """Read a store; `Store.writing` opens one to add to.

    Parameters
    ----------
    path
        Folder of the store.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not is_store(self.path):
            raise ConfigError(
                f"Store {self.path} must be a folder with campaign.json, as run_design writes; found none."
            )
        remedy = "restore it from a copy, or start a new store"
        self.campaign = read_json(self.path / "campaign.json", f"campaign.json of store {self.path}", remedy)
        if self.campaign.get("format") not in READ:
            raise ConfigError(
                f"Store {self.path} has format {self.campaign.get('format')}, this version reads formats "
                f"{' and '.join(map(str, READ))}; use the version that wrote it or start a new store."
            )
        with reading(f"Store {self.path}", remedy):
            self.design = self._read_design()
            self._check_campaign()
        records, _, self.damaged = read_journal(self.path / "journal.log")
        whole = [record for record in records if tells_a_sample(record)]
        self.damaged += len(records) - len(whole)
        self._records: dict[int, dict[str, Any]] = {}  # of samples that failed, or whose outputs are not the campaign's
        self._numbers = Numbers(self.path / "numbers.bin", len(self.design), len(self.campaign["outputs"]))
        self._runs = np.zeros(len(self.design), dtype=bool)  # samples with a trajectory
        self.damaged += self._numbers.damaged
        self._take(whole)
        self._forget_failures()
        self._journal: Journal | None = None
        self._blocks: BlockFile | None = None
        self.note = ""

    @classmethod
    @contextmanager
    def writing(cls, path: str | Path, model: Evaluable, design: Design) -> Iterator[Store]:
        """Create a store or open it to go on, hold its lock, and check that model and design are those it was made for.

        A design that starts with the stored one and has more points extends it.
        """
        path = Path(path)
        if path.exists() and not path.is_dir():
            raise ConfigError(f"Store {path} must be a folder, found a file; choose another name.")
        strangers = [p.name for p in path.iterdir() if not _is_ours(p.name)] if path.exists() else []
        if strangers and not is_store(path):
            raise ConfigError(f"Store {path} must be a new or empty folder, found {sorted(strangers)[0]} in it.")
        with store_errors(path):
            (path / "runs").mkdir(parents=True, exist_ok=True)
        with locked(path / "lock", f"Store {path}") as note:
            if is_store(path):
                store = cls(path)
                store._check(model, design)
                if len(design) > len(store.design):
                    _write_campaign(path, design, store.campaign)
                    store = cls(path)
            else:
                _create(path, model, design)
                store = cls(path)
            store.note = note
            for left in (*path.glob(".*.part"), *(path / "runs").glob(".*.part"), *path.glob("design-*.nc")):
                if left.name != store.campaign["design"]["file"]:  # cut off by a crash, or since extended
                    left.unlink()
            with store_errors(path):
                store._journal = Journal(path / "journal.log")
                store._blocks = BlockFile(path / "numbers.bin") if store.campaign["format"] > 1 else None
            try:
                yield store
            finally:
                store._journal.close()
                if store._blocks is not None:
                    store._blocks.close()
                store._journal = store._blocks = None

    def add(self, batch: Batch) -> None:
        """Keep samples that ended; when this returns, they are safe on disk."""
        assert self._journal is not None, "a store is written to inside Store.writing"
        block = batch.block
        if block is not None and self._blocks is None:
            batch, block = self._one_by_one(batch, block), None
        records = []
        with store_errors(self.path):
            if block is not None and self._blocks is not None:
                self._blocks.append(block)
                self._numbers.take(block)
                self._forget_failures()
            for index, outcome in batch.rest:
                record: dict[str, Any] = {"sample": index, "seconds": round(outcome.seconds, 6)}
                if outcome.failure:
                    record["failed"] = {"kind": outcome.failure.kind, "reason": outcome.failure.reason}
                    record["parameters"] = self.design.parameters(index)
                else:
                    record["outputs"] = outcome.numbers
                if outcome.trajectory is not None:
                    record["run"] = True
                records.append(record)
            self._save_runs([(i, outcome.trajectory) for i, outcome in batch.rest if outcome.trajectory is not None])
            if records:
                self._journal.append(records)
        self._take(records)

    def _save_runs(self, runs: list[tuple[int, Trajectory]]) -> None:
        """Write trajectories side by side: sixteen flushes at once take the disk little longer than one."""
        if not runs:
            return
        with ThreadPoolExecutor(min(len(runs), FEW)) as pool:
            for saved in [pool.submit(run.save, self._run_file(i)) for i, run in runs]:
                saved.result()

    def _take(self, records: list[dict[str, Any]]) -> None:
        """Take what the journal tells: usual samples into arrays, 8 bytes a number, so that memory stays flat."""
        names = [name for name, _ in self.campaign["outputs"]]
        for record in records:
            index, outputs = record["sample"], record.get("outputs", {})
            if index < len(self.design) and "failed" not in record:
                self._runs[index] = record.get("run", False)
            if index < len(self.design) and "failed" not in record and set(outputs) == set(names):
                self._records.pop(index, None)
                self._numbers.take(Block(np.array([index]), np.array([[outputs[n] for n in names]]), record["seconds"]))
            else:
                self._records[index] = record

    def _one_by_one(self, batch: Batch, block: Block) -> Batch:
        """Return a batch without block, for a store of format 1."""
        names, each = ([name for name, _ in self.campaign["outputs"]], block.seconds / len(block.indices))
        rows = zip(block.indices.tolist(), block.numbers.tolist(), strict=True)
        plain = [(i, Outcome(dict(zip(names, row, strict=True)), seconds=each)) for i, row in rows]
        return Batch([*plain, *batch.rest])

    def _forget_failures(self) -> None:
        """Drop failures of samples that were retried and came in a block."""
        for index in [i for i in self._records if i < len(self.design) and self._numbers.done[i]]:
            del self._records[index]

    def finish(self) -> Dataset:
        """Return parameters and outputs of all finished samples; up to 100 000 they are also written to results.nc."""
        data = self.dataset()
        with store_errors(self.path):
            if len(self.design) <= SMALL:
                data.save(self.path / "results.nc")
            else:
                (self.path / "results.nc").unlink(missing_ok=True)  # of a design that was extended since
        return data

    @property
    def name(self) -> str:
        """Name of the model."""
        return str(self.campaign["model"].get("name", "model"))

    @property
    def finished(self) -> list[int]:
        """Numbers of the samples with a result, in order."""
        alone = [i for i, r in self._records.items() if "failed" not in r and i < len(self.design)]
        together: list[int] = np.flatnonzero(self._numbers.done).tolist()
        return sorted([*alone, *together]) if alone else together

    @property
    def failed(self) -> list[FailedSample]:
        """Samples without result and why, in order."""
        return [
            FailedSample(i, dict(r["parameters"]), Failure(r["failed"]["kind"], r["failed"]["reason"]))
            for i, r in sorted(self._records.items())
            if "failed" in r
        ]

    @property
    def open(self) -> list[int]:
        """Numbers of the samples not tried yet, in order."""
        tried = self._numbers.done.copy()
        tried[[i for i in self._records if i < len(tried)]] = True
        found: list[int] = np.flatnonzero(~tried).tolist()
        return found

    @property
    def seconds(self) -> float:
        """Time spent in the model over all samples, in s."""
        return self._numbers.seconds + float(sum(r["seconds"] for r in self._records.values()))

    @property
    def with_trajectories(self) -> bool:
        """Whether finished samples have a trajectory."""
        return bool(self._runs.any())

    def dataset(self) -> Dataset:
        """Return parameters and outputs of all finished samples, in the order of the design."""
        rows = np.array(self.finished, dtype=np.int64)
        units = dict(self.campaign["outputs"])
        alone = [int(i) for i in rows[~self._numbers.done[rows]]]
        names = list(units) or (list(self._records[alone[0]]["outputs"]) if alone else [])
        values = self._numbers.values.copy() if units else np.empty((len(self.design), len(names)))
        without = rows[self._numbers.done[rows]] if names and not units else ()
        for i in (*alone, *without):
            outputs = self._records.get(int(i), {"outputs": {}})["outputs"]
            if set(outputs) != set(names):
                got = ", ".join(outputs) or "none"
                raise ConfigError(f"Sample {i} of store {self.path} must have outputs {', '.join(names)}, got {got}.")
            values[i] = [outputs[name] for name in names]
        ports = [Port(name, units.get(name, "")) for name in names]
        space = self.design.space
        return Dataset(self.design.points[rows], values[rows], space.ports, ports, space=space)

    def trajectory(self, index: int) -> Trajectory:
        """Read the trajectory of one finished sample."""
        if not (0 <= index < len(self._runs) and self._runs[index]):
            raise ConfigError(f"Sample {index} of store {self.path} has no trajectory.")
        return Trajectory.load(self._run_file(index))

    def trajectories(self) -> Iterator[tuple[int, Trajectory]]:
        """Read the trajectories one by one: (number of the sample, trajectory)."""
        for index in self.finished:
            if self._runs[index]:
                yield index, self.trajectory(index)

    def to_xarray(self) -> xarray.Dataset:
        """Return parameters, outputs and, on a common time axis, all trajectories (sample, time) in memory.

        Its `to_netcdf` makes one file of a campaign.
        """
        import xarray

        data = self.dataset()
        columns: dict[str, Any] = {
            port.name: ("sample", data[port.name], {"units": port.unit}) for port in (*data.inputs, *data.outputs)
        }
        runs = [run for _, run in self.trajectories()]
        if runs and any(run.ports != runs[0].ports or not np.array_equal(run.time, runs[0].time) for run in runs):
            raise ConfigError(f"Trajectories of store {self.path} must have the same columns and times to be stacked.")
        for i, port in enumerate(runs[0].ports if runs else ()):
            name = port.name if port.name not in columns else f"{port.name}_run"
            columns[name] = (("sample", "time"), np.stack([run.values[:, i] for run in runs]), {"units": port.unit})
        axes = {"sample": self.finished, **({"time": ("time", runs[0].time, {"units": "s"})} if runs else {})}
        return xarray.Dataset(columns, axes, {"model": self.name})

    def summary(self) -> str:
        """Return what is in the store as text; every failed sample is named."""
        n, failed = len(self.design), self.failed
        lines = [
            f"store     {self.path}",
            f"model     {self.name}",
            f"design    {n} points, {self.campaign['design']['made']['method']}",
            f"finished  {len(self.finished)}" + (", with trajectories" if self.with_trajectories else ""),
            f"failed    {len(failed)}",
            f"open      {len(self.open)}",
        ]
        if self.damaged:
            lines.append(f"damaged   {self.damaged} lines of the journal, which do not count")
        if failed:
            rows = [(str(f.index), f.failure.kind, f.failure.reason, _short(f.parameters)) for f in failed]
            lines += ["", text_table(("sample", "failed by", "reason", "parameters"), rows)]
        return "\n".join(lines)

    def _run_file(self, index: int) -> Path:
        return self.path / "runs" / f"{index:06d}.nc"

    def _check_campaign(self) -> None:
        """Refuse a campaign.json whose model, outputs or origin of the design are not what `_create` writes."""
        method = self.campaign["design"]["made"]["method"]
        if not isinstance(self.campaign["model"], dict) or not isinstance(method, str):
            raise TypeError("model and design must be objects")
        for name, unit in self.campaign["outputs"]:
            Port(name, unit)

    def _read_design(self) -> Design:
        entry = self.campaign["design"]
        if not (isinstance(entry["file"], str) and entry["file"].startswith("design-") and "/" not in entry["file"]):
            raise ValueError(f"design file {entry['file']!r}")
        variables, _ = read_netcdf(self.path / entry["file"])
        unit = np.asarray(variables["unit"][1], dtype=float)
        if _hash(entry["space"], unit) != entry["hash"]:
            raise ConfigError(f"Design file {entry['file']} of store {self.path} is damaged: its hash does not match.")
        return Design(ParameterSpace.from_dict(entry["space"]), unit, entry["made"])

    def _check(self, model: Evaluable, design: Design) -> None:
        problems = []
        stored, given = self.campaign["model"], plain_identity(model)
        for key in sorted({*stored, *given}):
            if stored.get(key) != given.get(key):
                problems.append(
                    f"Model '{key}' of store {self.path} is {_brief(stored.get(key))}, now {_brief(given.get(key))}; "
                    "use another store for the changed model."
                )
        if design.space.to_dict() != self.campaign["design"]["space"]:
            problems.append(f"Parameters of store {self.path} differ from the design's; use another store.")
        else:
            n = min(len(design), len(self.design))
            if n < len(self.design) or not np.array_equal(design.unit[:n], self.design.unit[:n]):
                problems.append(
                    f"Design of store {self.path} ({len(self.design)} points) must be the given one or its beginning, "
                    f"got {len(design)} other points; use another store, or mor.extend to add points."
                )
        if problems:
            raise ConfigError.from_problems(f"Resuming store {self.path}", problems)


def is_store(path: Path) -> bool:
    """Say whether a path is a store."""
    return (path / "campaign.json").is_file()


def _create(path: Path, model: Evaluable, design: Design) -> None:
    campaign = {
        "format": FORMAT,
        "model": plain_identity(model),
        "outputs": [[port.name, port.unit] for port in outputs_of(model)],
    }
    _write_campaign(path, design, campaign)


def _write_campaign(path: Path, design: Design, campaign: dict[str, Any]) -> None:
    space = design.space.to_dict()
    digest = _hash(space, design.unit)
    file = f"design-{digest[:12]}.nc"
    axes, names = ("sample", "parameter"), ",".join(design.space.names)
    with store_errors(path):
        points = {"points": (axes, design.points, {"names": names})} if len(design) <= SMALL else {}
        write_netcdf(path / file, {**points, "unit": (axes, design.unit, {"names": names})}, {})
        campaign["design"] = {"file": file, "hash": digest, "made": design.made, "space": space}
        write_file(path / "campaign.json", json.dumps(campaign, indent=1, allow_nan=True) + "\n")


def _hash(space: object, unit: Array) -> str:
    text = json.dumps(space, sort_keys=True).encode()
    return hashlib.sha256(text + np.ascontiguousarray(unit, dtype="<f8").tobytes()).hexdigest()


def _is_ours(name: str) -> bool:
    return name in {"lock", "runs"} or name.startswith(("design-", ".design-", ".campaign.json"))


def _brief(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _short(parameters: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={value:.6g}" for name, value in parameters.items())
