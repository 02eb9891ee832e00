"""A large frame goes to a loop block and to every bundle in one call, with its error told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from export import verify, write
from mor.dynamics.krylov import Krylov
from mor.dynamics.projection import Balanced, CraigBampton, FreeInterface, Modes
from mor.dynamics.pymor_reduction import Irka, PymorBalanced
from mor.dynamics.reduced_structure import full_response, small_response, worst_difference
from mor.frames import frame_part
from mor.models.slab import slab, slab_part
from mor.sources.finite_elements import FiniteElementSubstructure
from mor.substructures.exported import linear_model
from rt_runtime import ConfigError, Loop, Noise


@pytest.fixture(scope="module")
def part() -> FiniteElementSubstructure:
    return slab_part(cells=10)


def test_slab_deflects_and_vibrates_as_a_plate(part: FiniteElementSubstructure) -> None:
    """Grillage on its corners: first mode 7.1 / (2 pi a2) sqrt(D / m) of a corner-supported plate within 10 %."""
    f1 = slab(16).modes(1).frequencies[0]
    D, m = 30e9 * 0.2**3 / 12, 2500 * 0.2  # without Poisson's ratio, which a grillage does not know
    assert f1 == pytest.approx(7.1 / (2 * np.pi * 12.0**2) * np.sqrt(D / m), rel=0.1)
    assert f1 == pytest.approx(slab(10).modes(1).frequencies[0], rel=0.03)  # refined


def test_one_call_makes_a_loop_block_and_tells_its_error(part: FiniteElementSubstructure) -> None:
    small = part.reduced_to(1e-3, (0.0, 100.0))
    assert small.error <= 1e-3
    assert small.reduction is not None and small.reduction.states < 0.5 * part.structure.n
    f = np.random.default_rng(0).uniform(0.0, 100.0, 15)  # frequencies it was not chosen on
    full = np.array([full_response(part.structure, x) for x in f])
    system = small.reduction.system
    peak = np.maximum(np.abs(small.reduction.response).max(axis=0), np.abs(full).max(axis=0))
    assert (np.abs(full - small_response(system, f)).max(axis=0) / peak).max() < 2e-3
    assert worst_difference(small.reduction.response, small_response(system, small.reduction.frequencies)) <= 1e-3
    loop = Loop(1000.0)
    loop.signal("u[2]")
    loop.signal("y[3]")
    loop.add("noise", Noise([1.0, 100.0], seed=1), outputs=["u[2]"])
    loop.add("slab", small.block(dt=1e-3), inputs=["u[2]"], outputs=["y[3]"])
    assert np.isfinite(loop.run(0.5)["y[3]"]).all()
    with pytest.raises(ConfigError, match="error of substructure 'slab' is not known: reduce it with reduced_to"):
        _ = part.small(system).error


def test_modes_that_nothing_drives_or_sees_are_left_out(part: FiniteElementSubstructure) -> None:
    """A load at the middle and the ground cannot excite antisymmetric modes."""
    small = part.reduced_to(1e-2, (0.0, 40.0))
    assert small.reduction is not None and small.reduction.T is not None
    modes = slab(10).modes(40).frequencies
    assert small.reduction.T.shape[1] < 0.7 * np.count_nonzero(modes < 40.0) + 4


INTERFACE = (20, 41)
REDUCTIONS = {
    "modes": Modes(8),
    "Craig-Bampton": CraigBampton(INTERFACE, 10),
    "free interface": FreeInterface(INTERFACE, 8),
    "balanced": Balanced(12, modes=20),
    "Krylov": Krylov([0.0, 8.0, 20.0]),
    "IRKA": Irka(12, start=Modes(20)),
    "pyMOR balanced": PymorBalanced(12, start=Modes(20)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_every_reduction_tells_its_error_and_goes_to_onnx_c_and_fmu(
    name: str, part: FiniteElementSubstructure, tmp_path: Path
) -> None:
    reduction = REDUCTIONS[name]
    if isinstance(reduction, Irka | PymorBalanced):
        pytest.importorskip("pymor", reason="needs the 'pymor' extra")
    found = part.judged(reduction, band=(0.0, 10.0))
    assert found.error < 0.1 and found.states <= 40
    u = np.random.default_rng(3).normal(size=(400, 2)) * [1.0, 1e3]
    assert found.history_error(u, 1e-3).max() < 0.1
    small = part.small(found)
    assert small.error == found.error
    model = linear_model(small, dt=1e-3, ranges={"ay": (-3.0, 3.0), "force": (-1e4, 1e4)})
    run = small.simulate(u[:300].clip([-3, -1e4], [3, 1e4]), dt=1e-3)
    y = model.rollout(u[:300].clip([-3, -1e4], [3, 1e4]))
    assert np.abs(y - np.column_stack([run[p.name] for p in small.outputs])).max() < 1e-8 * np.abs(y).max()
    rows = verify(write(model, tmp_path / "slab", targets=("onnx", "c", "fmu")), {"model": model})
    assert all(row.ok or row.skipped for row in rows)
    assert {"c", "fmu"} <= {word for row in rows for word in row.engine.lower().replace("(", " ").split()}


def test_ports_that_cannot_be_are_said() -> None:
    frame = slab(3)
    with pytest.raises(ConfigError, match="ground or forces of frame part 'x' must name an input, got neither"):
        frame_part(frame, "x", motions={"d": "1_1.uy"})
    with pytest.raises(ConfigError, match=r"Freedom '9_9.uy' of a frame must name one of its nodes, got node '9_9'"):
        frame_part(frame, "x", ground=["uy"], motions={"d": "9_9.uy"})
    with pytest.raises(ConfigError, match=r"Freedom '0_0.uy' of a frame is held by a support"):
        frame_part(frame, "x", ground=["uy"], motions={"d": "0_0.uy"})
    with pytest.raises(ConfigError, match="quantity of output 'd'"):
        frame_part(frame, "x", ground=["uy"], motions={"d": ("s", "1_1.uy")})
