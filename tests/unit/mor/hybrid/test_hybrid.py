"""Hybrid models: order, delays, sums, transfer systems, swapping, and every refusal in words."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mor import LinearStructure, Trajectory
from mor.excitation import Excitation
from mor.hybrid.model import HybridModel, TransferSystem
from mor.substructures import BlockSubstructure, LinearSubstructure, StaticSubstructure
from rt_runtime import Delay, Gain
from rt_runtime.errors import ConfigError

GROUND = Trajectory([0.0, 0.2, 0.6, 1.0], [0.0, 2.0, -1.0, 0.0], {"a_g": "m/s2"})
X, V, A = ("m", "x", [1.0]), ("m/s", "v", [1.0]), ("m/s2", "a", [1.0])


def frame(k: float = 800.0, c: float = 0.5, **outputs: tuple[str, str, list[float]]) -> LinearSubstructure:
    inputs = {"a_g": ("m/s2", [-2.0]), "force": ("N", [1.0])}
    structure = LinearStructure([[2.0]], [[c]], [[k]])
    return LinearSubstructure.from_structure("frame", structure, inputs=inputs, outputs=outputs or {"x": X, "v": V})


def spring_rhs(u, p, y):  # type: ignore[no-untyped-def]
    y[0] = p[0] * u[0] + p[1] * u[1]


@cache
def spring() -> StaticSubstructure:
    inputs = {"x": "m", "v": "m/s"}
    parameters = {"k": (200.0, "N/m", 0.0, 1e4), "c": (1.0, "Ns/m")}
    return StaticSubstructure("spring", spring_rhs, inputs=inputs, outputs={"f": "N"}, parameters=parameters)


def model(dt: float = 1e-3, **more: object) -> HybridModel:
    arguments: dict[str, object] = {"couplings": {"frame.force": ["-spring.f"]}, "excitations": GROUND, "duration": 1.0}
    return HybridModel("split", [spring(), frame()], dt=dt, **(arguments | more))  # type: ignore[arg-type]


def whole(dt: float, k: float = 1000.0, c: float = 1.5) -> Trajectory:
    excitation = np.interp(np.arange(round(1.0 / dt)) * dt, GROUND.time, GROUND["a_g"])
    return frame(k, c).simulate({"a_g": excitation, "force": 0.0}, dt=dt, hold="foh")


def error(split: HybridModel, dt: float) -> float:
    reference = whole(dt)["x"]
    return float(np.abs(split.run()["x"] - reference).max() / np.abs(reference).max())


def test_the_parts_move_as_the_whole_and_the_error_falls_with_the_step() -> None:
    coarse, fine = error(model(1e-3), 1e-3), error(model(2.5e-4), 2.5e-4)
    assert fine < 4e-3
    assert coarse / fine == pytest.approx(4.0, rel=0.1)  # first order in the step, as held couplings are


def test_order_puts_the_part_without_feedthrough_first_and_needs_no_delay() -> None:
    split = model()
    assert split.order == ("frame", "spring", "frame.force.sum")
    assert split.delays == ()
    assert "force [N] <- frame.force.sum  (of the last tick, no lag)" in split.describe()
    assert "One-step delays: none" in split.describe()


def test_a_loop_of_instantaneous_couplings_gets_one_declared_delay() -> None:
    def doubled(u, p, y):  # type: ignore[no-untyped-def]
        y[0] = 0.5 * u[0] + 1.0

    a = StaticSubstructure("a", doubled, inputs={"q": ""}, outputs={"r": ""})
    b = StaticSubstructure("b", doubled, inputs={"r": ""}, outputs={"q": ""})
    loop = HybridModel("ring", [a, b], dt=0.1, duration=0.4)
    assert loop.delays == ("q -> a.q",)
    assert "q [] <- q  (one tick late)" in loop.describe()
    np.testing.assert_allclose(loop.run()["r"], [1.0, 1.75, 1.9375, 1.984375])


def test_a_linear_part_with_feedthrough_reads_its_force_one_tick_late() -> None:
    with_acceleration = model().swap("frame", frame())
    assert with_acceleration.delays == ()
    parts = [frame(x=X, v=V, a=A), spring()]
    couplings = {"frame.force": ["-spring.f"]}
    split = HybridModel("split", parts, dt=1e-3, couplings=couplings, excitations=GROUND, duration=1.0)
    assert len(split.delays) == 1
    assert np.abs(split.run()["x"] - whole(1e-3)["x"]).max() < 0.1 * np.abs(whole(1e-3)["x"]).max()


def test_swap_exchanges_a_part_with_the_same_ports() -> None:
    stiffer = model().swap("spring", spring().renamed("other").with_parameters({"k": 400.0}))
    by_parameter = model().run(parameters={"spring.k": 400.0})
    np.testing.assert_array_equal(stiffer.run()["x"], by_parameter["x"])
    assert stiffer.identity() != model().identity()
    wrong = StaticSubstructure(
        "spring", spring_rhs, inputs={"x": "mm", "v": "m/s"}, outputs={"f": "N"}, parameters={"k": 1, "c": 0}
    )
    with pytest.raises(ConfigError, match=r"in the place of 'spring' must have the ports x \[m\].*got x \[mm\]"):
        model().swap("spring", wrong)
    with pytest.raises(
        ConfigError, match="Substructure 'damper' of hybrid model 'split' is unknown; it has spring, frame"
    ):
        model().swap("damper", spring())


def test_transfer_system_on_a_coupling() -> None:
    """A pure gain as controller and a delay as actuator: what the spring feels is the target one tick ago, doubled."""
    actuator = BlockSubstructure("rig", lambda dt, p: Delay(1), inputs={"command": "m"}, outputs={"measured": "m"})
    inputs = {"target": "m", "measured": "m"}
    controller = BlockSubstructure("law", lambda dt, p: Gain([[2.0, 0.0]]), inputs=inputs, outputs={"command": "m"})
    tested = model(transfers={"spring.x": TransferSystem(actuator, controller)})
    result = tested.run(record=["x", "spring.x.command", "spring.x.measured", "f", "v"])
    np.testing.assert_allclose(result["spring_x_command"], 2.0 * result["x"])
    np.testing.assert_allclose(result["spring_x_measured"][1:], 2.0 * result["x"][:-1])
    np.testing.assert_allclose(result["f"], 200.0 * result["spring_x_measured"] + result["v"])
    assert tested.delays == ("spring.x.measured -> spring.x.controller.measured",)
    slower = model(transfers={"spring.x": TransferSystem(actuator, controller, every=4)})
    held = slower.run(record=["x", "spring.x.command"])
    np.testing.assert_allclose(held["spring_x_command"], np.repeat(2.0 * held["x"][::4], 4))
    assert slower.identity() != tested.identity()
    with pytest.raises(ConfigError, match="every of a transfer system must be a whole number of at least 1, got 0"):
        TransferSystem(actuator, controller, every=0)


def test_sources_of_every_sort_excite() -> None:
    step = BlockSubstructure(
        "one", lambda dt, p: Gain(np.zeros((1, 0)), offset=[1.0]), inputs=[], outputs={"a": "m/s2"}
    )
    by_block = model(excitations={"a_g": step}).run()
    by_number = model(excitations={"a_g": 1}).run()
    by_table = model().with_excitations({"a_g": Trajectory([0.0, 1.0], [1.0, 1.0], {"a": "m/s2"})}).run()
    np.testing.assert_array_equal(by_block["x"], by_number["x"])
    np.testing.assert_array_equal(by_table["x"], by_number["x"])
    by_record = model(excitations={"a_g": Excitation(np.ones(1001), 1e-3)}).run()
    np.testing.assert_array_equal(by_record["x"], by_number["x"])
    assert by_number.units[0] == "m/s2"


def test_a_parameter_name_reaches_every_part_that_has_it() -> None:
    twins = [spring().renamed("left", {"f": "f_left"}), spring().renamed("right", {"f": "f_right"}), frame()]
    couplings = {"frame.force": ["-left.f_left", "-right.f_right"]}
    both = HybridModel("twins", twins, dt=1e-3, couplings=couplings, excitations=GROUND, duration=0.5)
    result = both.evaluate({"k": 100.0})
    np.testing.assert_allclose(result["f_left"], 100.0 * result["x"] + result["v"])
    np.testing.assert_array_equal(result["f_left"], result["f_right"])
    one = both.run(parameters={"left.k": 100.0})
    np.testing.assert_allclose(one["f_right"], 200.0 * one["x"] + one["v"])
    assert both.parameters == ("k", "c")


def test_picture_is_a_file(tmp_path: Path) -> None:
    assert model().draw(tmp_path / "model.png").stat().st_size > 5000
    with pytest.raises(ConfigError, match=r"Picture of hybrid model 'split' must be a .png, .svg or .pdf file"):
        model().draw(tmp_path / "model.txt")


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (
            {"couplings": {"frame.force": "spring.g"}},
            "Source 'spring.g' of 'frame.force' is unknown.*spring.f, frame.x",
        ),
        (
            {"couplings": {"frame.farce": "spring.f"}},
            "Coupling to 'frame.farce' of hybrid model 'split' must end at an",
        ),
        ({"couplings": {}}, "Input 'frame.force' of hybrid model 'split' has no coupling .* there is none of its name"),
        ({"excitations": {"a_g": Trajectory([0, 1], [0, 1], {"a": "g"})}}, "must keep its unit, got 'g' into 'm/s2'"),
        ({"excitations": {"a_g": 0.0, "wind": 1.0}}, "Excitation 'wind' of hybrid model 'split' drives no input"),
        ({"excitations": {"a_g": np.nan}}, "Excitation 'a_g' of hybrid model 'split' must be a finite number"),
        (
            {"excitations": {"a_g": spring()}},
            "Excitation 'a_g' of hybrid model 'split' must have no input and one output",
        ),
        (
            {"excitations": {"a_g": Trajectory([0, 1], [[0, 1], [1, 1]], ["a", "b"])}},
            "one column of finite numbers, got 2",
        ),
        ({"dt": 0.0}, "dt of hybrid model 'split' must be a positive number, got 0"),
        (
            {"transfers": {"spring.y": TransferSystem(frame())}},
            "Transfer system to 'spring.y' of .* must end at an input",
        ),
        (
            {"transfers": {"spring.x": TransferSystem(frame())}},
            "Actuator on 'spring.x' must have one input and one output",
        ),
    ],
)
def test_bad_wiring_is_refused(more: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        model(**more)  # type: ignore[arg-type]


def test_units_and_controllers_of_transfer_systems_are_checked() -> None:
    def block(name: str, inputs: dict[str, str], unit: str) -> BlockSubstructure:
        return BlockSubstructure(
            name, lambda dt, p: Gain(np.ones((1, len(inputs)))), inputs=inputs, outputs={"o": unit}
        )

    with pytest.raises(ConfigError, match=r"Actuator on 'spring.x' must give 'm', got 'mm'"):
        model(transfers={"spring.x": TransferSystem(block("rig", {"c": "m"}, "mm"))})
    law = block("law", {"goal": "m"}, "m")
    with pytest.raises(ConfigError, match=r"Controller on .spring.x. must have the inputs target and"):
        model(transfers={"spring.x": TransferSystem(block("rig", {"c": "m"}, "m"), law)})


def test_all_problems_of_a_wiring_are_listed_at_once() -> None:
    with pytest.raises(ConfigError, match="Hybrid model 'split' has 2 problems") as caught:
        model(couplings={"frame.force": "spring.g", "frame.farce": "spring.f"})
    assert "1. Coupling to 'frame.farce'" in str(caught.value) and "2. Source 'spring.g'" in str(caught.value)


def test_bad_runs_are_refused() -> None:
    with pytest.raises(ConfigError, match="duration of hybrid model 'split' is missing"):
        model(duration=None).run()
    with pytest.raises(ConfigError, match="Parameter 'mass' of hybrid model 'split' is unknown; it has k, c"):
        model().run(parameters={"mass": 1.0})
    with pytest.raises(ConfigError, match=r"Parameter 'k' of substructure 'spring' must lie in \[0, 10000\]"):
        model().run(parameters={"k": -1.0})
    with pytest.raises(ConfigError, match="Excitation 'wind' of hybrid model 'split' is unknown; it has a_g"):
        model().with_excitations({"wind": 1.0})
    with pytest.raises(ConfigError, match="must have names of their own, got spring twice"):
        HybridModel("twice", [spring(), spring()], dt=0.1)
