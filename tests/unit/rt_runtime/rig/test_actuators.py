"""Simulated actuator against numpy, digests against the standard library, plug-ins from real shared libraries."""

from __future__ import annotations

import hashlib
import hmac
import shutil
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_runtime import ConfigError, Drive, PluginActuator, Rig, Sensor, SimulatedActuator, Tripped, UdpRig, _core
from rt_runtime.engine.loop import Loop
from rt_runtime.rig.actuators import include_folder
from tests.loop.rig_loop import PACING, assert_within_limits, rig_loop
from tests.loop.rig_process import RATE

DT = 1e-3
FIFTH_ORDER = [29.1, 1.26e4, 8.42e6, 2.33e9, 5.44e11, 2.17e13]


def answer(actuator: SimulatedActuator, commands: np.ndarray) -> np.ndarray:
    measured = []
    for command in commands:
        measured.append(actuator.read(0.0)[0].copy())
        assert actuator.write(0.0, np.atleast_1d(command)) == 0
    return np.array(measured)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400), st.binary(max_size=200))
def test_digests_are_those_of_the_standard_library(data: bytes, key: bytes) -> None:
    assert _core.crc32(data) == zlib.crc32(data)
    assert _core.sha256(data) == hashlib.sha256(data).digest()
    assert _core.HmacSha256(key).of(data) == hmac.new(key, data, hashlib.sha256).digest()
    for size in (16, 32):
        assert _core.Blake2s(b"", size).of(data)[:size] == hashlib.blake2s(data, digest_size=size).digest()
        if data:
            expected = hashlib.blake2s(data, key=key[:32], digest_size=size).digest()
            assert _core.Blake2s(key[:32], size).of(data)[:size] == expected


@pytest.mark.parametrize("length", [0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 128, 176, 1000])
def test_digests_at_the_lengths_where_padding_changes(length: int) -> None:
    data = bytes(i % 251 for i in range(length))
    assert _core.sha256(data) == hashlib.sha256(data).digest()
    if data:
        assert (
            _core.Blake2s(b"k" * 32, 16).of(data)[:16] == hashlib.blake2s(data, key=b"k" * 32, digest_size=16).digest()
        )


def test_transfer_function_agrees_with_scipy() -> None:
    from scipy import signal

    commands = np.sin(2 * np.pi * 5.0 * np.arange(500) * DT)
    got = answer(SimulatedActuator([2.19e13], FIFTH_ORDER, dt=DT), commands)[:, 0]
    system = signal.StateSpace(*signal.tf2ss([2.19e13], FIFTH_ORDER)).to_discrete(DT)
    _, expected, _ = signal.dlsim(system, commands)
    assert np.abs(got - expected[:, 0]).max() < 1e-9


def test_a_numerator_with_zeros_agrees_with_scipy() -> None:
    from scipy import signal

    num, den = [3.0, 400.0], [1.0, 60.0, 4e3]
    commands = np.random.default_rng(1).standard_normal(300)
    system = signal.StateSpace(*signal.tf2ss(num, den)).to_discrete(DT)
    _, expected, _ = signal.dlsim(system, commands)
    assert np.allclose(answer(SimulatedActuator(num, den, dt=DT), commands)[:, 0], expected[:, 0], atol=1e-10)


def test_delay_limits_quantum_and_noise() -> None:
    step = np.full(200, 1.0)
    late = answer(SimulatedActuator(dt=DT, delay=0.01), step)[:, 0]
    assert (late[:11] == 0.0).all() and (late[11:] == 1.0).all()  # ten ticks of delay and the one of the actuator
    limited = answer(SimulatedActuator(dt=DT, upper=0.5, rate=10.0), step)[:, 0]
    assert limited.max() == 0.5 and np.allclose(np.diff(limited)[1:40], 0.01)
    coarse = answer(SimulatedActuator(dt=DT, quantum=0.3), np.linspace(0, 1, 50))[:, 0]
    assert np.allclose(coarse / 0.3, np.round(coarse / 0.3)) and len(np.unique(coarse)) == 4
    noisy = SimulatedActuator(dt=DT, noise=0.1, seed=4, channels=2)
    first = answer(noisy, np.zeros((4000, 2)))
    assert first.std(axis=0) == pytest.approx([0.1, 0.1], rel=0.05)
    noisy.reset()
    assert answer(noisy, np.zeros((4000, 2))).tobytes() == first.tobytes()


def test_a_simulated_actuator_runs_again_in_a_replay_and_a_rig_does_not() -> None:
    assert not Sensor(SimulatedActuator(dt=DT)).external
    rig = UdpRig(1, 2, port=9)
    assert Sensor(rig).external and Drive(rig).external and rig.real_time


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: SimulatedActuator([1, 2], [1, 2], dt=DT),
            "numerator .* lower degree than the denominator, got degree 1",
        ),
        (lambda: SimulatedActuator([1, 2], [1], dt=DT), "denominator .* must have a degree of at least 2, got 0"),
        (lambda: SimulatedActuator([0.0], [1, 2], dt=DT), "numerator and denominator .* must not be zero"),
        (lambda: SimulatedActuator(dt=DT, delay=-1.0), "delay of SimulatedActuator must lie between 0"),
        (lambda: SimulatedActuator(dt=DT, lower=1.0, upper=2.0), "lower and upper .* must enclose 0, got 1 and 2"),
        (lambda: SimulatedActuator(dt=DT, rate=0.0), "rate of SimulatedActuator must be positive, got 0.0"),
        (lambda: SimulatedActuator(dt=DT, noise=-1.0), "noise of SimulatedActuator must not be negative"),
        (lambda: UdpRig(1, 33, port=9), "n_measured of UdpRig must be at most 32 in protocol 2, got 33"),
        (
            lambda: UdpRig(1, 1, port=9, host="10.0.0.5"),
            r"key of UdpRig must be given for a rig at 10\.0\.0\.5: without one",
        ),
        (lambda: UdpRig(1, 1, port=70000), "port of UdpRig must lie between 1 and 65535, got 70000"),
        (lambda: UdpRig(1, 1, port=9, key=b"short"), "key of UdpRig must be empty or at least 16 bytes, got 5"),
        (lambda: UdpRig(1, 1, port=9, host="nowhere").start(), "Address of a rig must be like 127.0.0.1"),
    ],
)
def test_arguments_are_checked(make: object, message: str) -> None:
    with pytest.raises((ConfigError, RuntimeError), match=message):
        make()  # type: ignore[operator]


def test_a_rig_checks_its_signals() -> None:
    loop = Loop(RATE)
    loop.constant("command", 0.0)
    loop.signal("x")
    loop.add("plant", _core.Playback(np.ones((1, 1))), outputs=["x"])
    with pytest.raises(ConfigError, match="Signal 'y' of the rig is unknown; its loop has x, command"):
        Rig(loop, ["command"], ["y"])
    with pytest.raises(ConfigError, match=r"Command 'x' of the rig must be declared with loop\.constant"):
        Rig(loop, ["x"], ["x"])
    first = Rig(loop, ["command"], ["x"])
    with pytest.raises(ConfigError, match="cannot be opened: Address already in use"):
        Rig(loop, ["command"], ["x"], port=first.port)


COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="a plug-in test needs a C compiler")
EXAMPLE = Path(__file__).resolve().parents[4] / "docs" / "examples" / "spring_actuator.c"


def build_plugin(folder: Path, *, read_fails_at: float = 1e9, leave_out: str = "", real_time: int = 1) -> Path:
    """Compile the documented example, changed where a test wants it to misbehave."""
    text = EXAMPLE.read_text()
    text = text.replace(
        "  const spring *s = handle;\n", f"  const spring *s = handle;\n  if (t >= {read_fails_at}) return -7;\n"
    )
    text = text.replace("info->real_time = 1", f"info->real_time = {real_time}")
    if leave_out:
        text = text.replace(leave_out, f"other_{leave_out}")
    source, library = folder / "plugin.c", folder / "plugin.so"
    source.write_text(text)
    assert COMPILER is not None
    flags = ["-Wall", "-Werror", "-std=c99", "-O2", "-shared", "-fPIC", "-I", str(include_folder())]
    subprocess.run([COMPILER, *flags, str(source), "-o", str(library)], check=True)
    return library


@needs_compiler
def test_the_documented_plugin_runs_in_a_paced_loop(tmp_path: Path) -> None:
    plugin = PluginActuator(build_plugin(tmp_path), "1e5", n_command=1, n_measured=2, dt=1 / RATE)
    record = rig_loop(plugin).run(0.2, paced=True, pacing=PACING)
    assert record.ended == "finished"
    assert np.allclose(record["x"][1:], record["command"][:-1])
    assert np.allclose(record["force"], 1e5 * record["x"])
    assert_within_limits(record)


@needs_compiler
def test_a_plugin_is_asked_for_a_watchdog_and_says_whether_it_has_one(tmp_path: Path) -> None:
    text = EXAMPLE.read_text().replace(
        "info->watchdog = 0;", "info->watchdog = info->hold_after == 7 && info->lease == 0.5 && info->ramp == 1.5;"
    )
    source, library = tmp_path / "asked.c", tmp_path / "asked.so"
    source.write_text(text)
    assert COMPILER is not None
    subprocess.run(
        [COMPILER, "-shared", "-fPIC", "-I", str(include_folder()), str(source), "-o", str(library)], check=True
    )
    asked = PluginActuator(library, "1e5", n_command=1, n_measured=2, dt=DT, hold_after=7, lease=0.5, ramp=1.5)
    asked.start()
    assert asked.watchdog and asked.write(0.0, np.array([np.nan])) == -3
    asked.stop()
    plain = PluginActuator(library, "1e5", n_command=1, n_measured=2, dt=DT)
    plain.start()
    assert not plain.watchdog
    plain.stop()


@needs_compiler
def test_a_plugin_that_returns_an_error_trips_in_that_tick(tmp_path: Path) -> None:
    library = build_plugin(tmp_path, read_fails_at=0.1)
    loop = rig_loop(PluginActuator(library, "1e5", n_command=1, n_measured=2, dt=1 / RATE))
    with pytest.raises(
        Tripped, match=r"at tick 100 .*: rig\.status -7 is below its limit 0 \(rule 'rig_error'\)"
    ) as caught:
        loop.run(1.0, paced=True, pacing=PACING)
    assert_within_limits(caught.value.record)
    assert caught.value.record["command"][-1] == 0.0


@needs_compiler
def test_a_plugin_says_what_is_wrong_before_the_first_tick(tmp_path: Path) -> None:
    library = build_plugin(tmp_path)
    loop = Loop(RATE)
    loop.signal("x")
    with pytest.raises(
        RuntimeError, match=r"could not start \(code -1\): one command and two measured signals, please"
    ):
        PluginActuator(library, "", n_command=1, n_measured=3, dt=DT).start()
    with pytest.raises(ConfigError, match=r"must have a function hmor_actuator_read, found none; see docs/plugin\.md"):
        PluginActuator(build_plugin(tmp_path, leave_out="hmor_actuator_read"), n_command=1, n_measured=2, dt=DT)
    with pytest.raises(ConfigError, match=r"Plug-in .*missing\.so cannot be opened"):
        PluginActuator(tmp_path / "missing.so", n_command=1, n_measured=2, dt=DT)


@needs_compiler
def test_a_plugin_that_does_not_promise_real_time_is_refused_by_a_clock(tmp_path: Path) -> None:
    library = build_plugin(tmp_path, real_time=0)
    loop = rig_loop(PluginActuator(library, "1e5", n_command=1, n_measured=2, dt=1 / RATE))
    with pytest.raises(ConfigError, match=r"Block 'rig\.read' is not made for a clock"):
        loop.run(0.1, paced=True)
    assert loop.run(0.1, paced=True, pacing=replace(PACING, not_real_time=True)).ended == "finished"
    with pytest.raises(
        ConfigError, match=r"Block 'rig\.write' drives an actuator that is not simulated and needs the clock"
    ):
        loop.run(0.1)


def test_channels_of_their_own_and_coupled() -> None:
    step = np.ones(60)
    alone = [answer(SimulatedActuator([1.0], [lag, 1.0], dt=DT), step)[:, 0] for lag in (0.002, 0.01)]
    steps = np.ones((60, 2))
    both = answer(SimulatedActuator([1.0], [[0.002, 1.0], [0.01, 1.0]], dt=DT, coupling=[[1, 0.1], [0, 1]]), steps)
    assert np.allclose(both, np.column_stack([alone[0] + 0.1 * alone[1], alone[1]]), atol=1e-14)
    limited = answer(
        SimulatedActuator(dt=DT, channels=2, upper=[0.5, 2.0], lower=-1.0, noise=[0.0, 0.1], seed=3), steps
    )
    assert limited[-1, 0] == 0.5
    assert np.std(limited[20:, 1]) > 0.05


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: SimulatedActuator([1.0], [[1.0, 1.0]] * 3, dt=DT, channels=2),
            r"one polynomial per channel, got \{2, 3\}",
        ),
        (lambda: SimulatedActuator(dt=DT, channels=2, noise=[1.0, 2.0, 3.0]), "noise .* one for each of 2 channels"),
        (lambda: SimulatedActuator(dt=DT, channels=2, coupling=np.eye(3)), r"coupling .* must have shape \(2, 2\)"),
    ],
)
def test_channels_are_checked(make: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()  # type: ignore[operator]
