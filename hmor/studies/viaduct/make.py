"""Make the stored data of the viaduct study: python -m hmor.studies.viaduct.make (needs openseespy, about an hour).

Runs the campaign of each kind of pier and the whole viaduct under the test records, and writes the files that come with
the package. What is there already is kept; `--only piers` or `--only responses` makes a part.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import numpy as np

from hmor.studies.viaduct.bridge import HEIGHTS, RATE, viaduct
from hmor.studies.viaduct.hybrid import one_pier
from hmor.studies.viaduct.piers import SETS, STORED, design, pier_model, pier_name, sets
from hmor.studies.viaduct.records import KEEP, RECORDS, RESPONSES, one_pier_file, record, response_file
from mor import Store, run_design
from rt_runtime.files import replacing

COMMAND = "python -m hmor.studies.viaduct.make"


def provenance(facts: Mapping[str, object]) -> str:
    """Return how a file was made, as JSON."""
    return json.dumps({"command": COMMAND, "openseespy": version("openseespy"), **facts})


def make_campaign(height: float, folder: Path, executor: str = "processes") -> None:
    """Run the protocols of a kind of pier and store the forces."""
    stores = {}
    for which in sets(height):
        stores[which] = folder / f"{pier_name(height)}_{which}"
        run_design(pier_model(height, stored=False), design(height, which), store=stores[which], executor=executor)
    points, forces, ways = [], [], []
    counts: dict[str, list[float]] = {}
    for which, path in stores.items():
        store, drawn = Store(path), design(height, which)
        numbers = store.dataset()
        for row, (index, run) in enumerate(store.trajectories()):
            points.append(drawn.points[index])
            forces.append(run["F"])
            ways.append(np.abs(np.diff(run["x"])).sum())
            for port in numbers.outputs:
                counts.setdefault(port.name, []).append(float(numbers[port.name][row]))
    made = provenance({"model": f"rc_pier({height:g})", "sets": {name: SETS[name] for name in stores}})
    arrays = {"points": points, "F": np.array(forces, np.float32), "way": ways, "provenance": made}
    write(STORED / f"{pier_name(height)}.npz", arrays | counts)


def make_response(name: str, scale: float, specimen: bool) -> None:
    """Run the whole viaduct under a record and store every fourth tick."""
    part = viaduct(specimen=specimen)
    ag = record(name).scaled(scale).values
    begun = os.times()
    found = part.run({"ag": ag, "F": 0.0}, dt=1.0 / RATE, every=KEEP)
    seconds = os.times().children_user - begun.children_user  # the solver's process has ended
    run = found.trajectory
    piers = [i for i in range(1, len(HEIGHTS) + 1) if specimen or i != 4]
    facts = {"cpu_s_per_step": seconds / (len(ag) - 1), **found.counts}
    arrays = {
        "x": np.column_stack([run[f"x{i}"] for i in range(1, 8)]).astype(np.float32),
        "F": np.column_stack([run[f"F{i}"] for i in piers]).astype(np.float32),
        "ag": run["ag"].astype(np.float32),
        "dt": KEEP / RATE,
        "provenance": provenance({"record": name, "scale": scale, "specimen": specimen, **facts}),
    }
    write(STORED / response_file(name, scale, specimen), arrays)


def make_one_pier(name: str) -> None:
    """Run a single pier in OpenSees under its deck and store every fourth tick."""
    begun = os.times()
    run = one_pier(name).run()
    gc.collect()  # ends the solver's process
    seconds = os.times().children_user - begun.children_user
    steps = KEEP * len(run.time)
    arrays = {
        "x": run["x1"][:, None].astype(np.float32),
        "F": run["F1"][:, None].astype(np.float32),
        "ag": run["ag"].astype(np.float32),
        "dt": KEEP / RATE,
        "provenance": provenance({"record": name, "scale": 1.0, "cpu_s_per_step": seconds / steps, "steps": steps}),
    }
    write(STORED / one_pier_file(name), arrays)


def write(path: Path, arrays: Mapping[str, object]) -> None:
    """Write a compressed file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **{name: np.asarray(v) for name, v in arrays.items()})
    print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB", flush=True)


def main() -> None:
    """Make what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("piers", "responses"))
    parser.add_argument("--stores", type=Path, default=Path("viaduct_campaign"), help="folder of the campaigns")
    given = parser.parse_args()
    if given.only != "responses":
        for height in sorted(set(HEIGHTS)):
            if not (STORED / f"{pier_name(height)}.npz").is_file():
                make_campaign(height, given.stores)
    if given.only != "piers":
        for response in RESPONSES:
            if not (STORED / response_file(*response)).is_file():
                make_response(*response)
        for name in RECORDS:
            if not (STORED / one_pier_file(name)).is_file():
                make_one_pier(name)


if __name__ == "__main__":
    main()
