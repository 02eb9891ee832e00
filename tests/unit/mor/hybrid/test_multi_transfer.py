"""Vectors in hybrid models: ports, couplings, and transfer systems with several channels and one controller."""

from __future__ import annotations

import numpy as np
import pytest

from mor import BlockSubstructure, HybridModel, LinearSubstructure, MultiTransfer, TransferSystem
from rt_runtime import ConfigError, Gain, Loop, previous

A = np.diag([-50.0, -80.0])
LAG = LinearSubstructure(
    "lag", (A, -A, np.eye(2), np.zeros((2, 2))), inputs={"command[2]": "m"}, outputs={"position[2]": "m"}
)
MASS = LinearSubstructure(
    "mass",
    (np.array([[0, 1.0, 0, 0], [-900, -3, 0, 0], [0, 0, 0, 1], [0, 0, -400, -2]]),
     np.array([[0, 0, 0], [1, -1, 0], [0, 0, 0], [1, 0, -1]]), np.eye(4)[[0, 2]], np.zeros((2, 3))),
    inputs={"ground": "m/s2", "force[2]": "N"},
    outputs={"w[2]": "m"},
)  # fmt: skip
SPRING = BlockSubstructure(
    "spring", lambda dt, p: Gain(np.diag([100.0, 50.0])), inputs={"pose[2]": "m"}, outputs={"force[2]": "N"}
)


def law(**changes):
    arguments = {
        "inputs": {"target[2]": "m", "measured[2]": "m"},
        "outputs": {"command[2]": "m", "effort": ""},
    } | changes
    gain = np.array([[1.5, 0, -0.5, 0], [0, 1.5, 0, -0.5], [1, 1, 0, 0]])
    return BlockSubstructure("law", lambda dt, p: Gain(gain), **arguments)


def model(transfer, couplings=None):
    return HybridModel(
        "two",
        [MASS, SPRING],
        dt=1e-3,
        excitations={"ground": 1.0},
        couplings={"spring.pose[2]": "mass.w[2]"} if couplings is None else couplings,
        transfers={"spring.pose[2]": transfer},
    )


def test_one_controller_drives_two_actuators_as_two_would() -> None:
    together = model(MultiTransfer(LAG, law())).run(1.0)
    single = BlockSubstructure(
        "law", lambda dt, p: Gain([[1.5, -0.5]]), inputs={"target": "m", "measured": "m"}, outputs={"command": "m"}
    )
    lags = [
        LinearSubstructure("lag", ([[a]], [[-a]], [[1.0]], [[0.0]]), inputs={"command": "m"}, outputs={"position": "m"})
        for a in (-50.0, -80.0)
    ]
    apart = HybridModel(
        "two",
        [MASS, SPRING],
        dt=1e-3,
        excitations={"ground": 1.0},
        couplings={"spring.pose[2]": "mass.w[2]"},
        transfers={f"spring.pose_{i + 1}": TransferSystem(lag, single) for i, lag in enumerate(lags)},
    ).run(1.0)
    for name in ("w_1", "w_2", "force_1", "force_2"):
        assert np.allclose(together[name], apart[name], atol=1e-15)
    assert np.abs(together["spring_pose_measured_2"]).max() > 1e-4
    assert "spring_pose_effort" in together.names


def test_the_force_of_a_tick_acts_in_the_step_that_begins_there() -> None:
    given = model(MultiTransfer(LAG, law()))
    sensors, part, control = (given.order.index(n) for n in ("spring.pose.actuator", "mass", "spring.pose.controller"))
    assert sensors < part < control
    assert not given.delays  # the step that ends now has the force of its beginning
    run = given.run(0.05)
    step = MASS.block(dt=1e-3)
    for k in range(40):
        w = step.step(0.0, np.array([1.0, run["force_1"][k], run["force_2"][k]]))
        assert np.allclose(w, run.values[k, [run.names.index("w_1"), run.names.index("w_2")]], atol=1e-16)


def test_further_inputs_of_a_controller_are_read_by_name() -> None:
    gain = np.hstack([np.eye(2), np.zeros((2, 2)), np.zeros((2, 1))])
    wide = BlockSubstructure(
        "law",
        lambda dt, p: Gain(gain),
        inputs={"target[2]": "m", "measured[2]": "m", "extra": "m"},
        outputs={"command[2]": "m"},
    )
    run = model(MultiTransfer(LAG, wide, reads={"extra": "mass.w_1"})).run(0.1)
    assert np.isfinite(run.values).all()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: model(MultiTransfer(LAG, law(inputs={"goal[2]": "m", "measured[2]": "m"}))), "target_1 is missing"),
        (
            lambda: model(MultiTransfer(LAG, law(inputs={"target[2]": "m", "measured": "m", "other": "m"}))),
            r"Input 'measured' .* must be target\[2\], measured\[2\] or named in reads",
        ),
        (lambda: model(MultiTransfer(LAG, law(outputs={"command": "m"}))), "must give 2 commands, got 1 outputs"),
        (lambda: model(MultiTransfer(LAG, law(), reads={"z": "mass.q"})), "Source 'mass.q' of 'z' .* is unknown"),
        (
            lambda: model(MultiTransfer(MASS, law())),
            "must give 'm/s2' at command_1, got 'm'; the actuator reads it as ground",
        ),
        (lambda: model(MultiTransfer(LAG, law()), {"spring.pose[2]": "mass.w[3]"}), "as many sources as elements"),
        (lambda: model(MultiTransfer(LAG, law(), every=0)), "every of a transfer system"),
    ],
)
def test_refusals(make, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        make()


def test_vector_signals_in_a_loop() -> None:
    loop = Loop(1000.0)
    loop.signal("pose[3]", unit=("m", "m", "rad"))
    loop.signal("sum")
    loop.add("gain", Gain([[1.0, 1.0, 1.0]]), inputs=[previous("pose[3]")], outputs=["sum"])
    loop.add("source", Gain(np.zeros((3, 0)), offset=[1.0, 2.0, 3.0]), outputs=["pose[3]"])
    loop.record(["pose[3]", "sum"])
    run = loop.run(0.002)
    assert run["pose[3]"].tolist() == [[1.0, 2.0, 3.0]] * 2
    assert run["sum"].tolist() == [0.0, 6.0]
    assert [s.unit for s in run.signals] == ["m", "m", "rad", ""]
    with pytest.raises(ConfigError, match=r"unit of signal 'q.3.' must be one text or 3, got 2"):
        loop.signal("q[3]", unit=("m", "rad"))
    with pytest.raises(ConfigError, match=r"Length of vector signal 'q.0.' must be at least 1"):
        loop.signal("q[0]")
    with pytest.raises(ConfigError, match=r"Unit of 'pose.6.' .* must be one or 6 with commas"):
        LinearSubstructure("x", ([[0]], [[0]], [[0]], [[0]]), inputs={"pose[6]": "m, rad"}, outputs=["y"])
