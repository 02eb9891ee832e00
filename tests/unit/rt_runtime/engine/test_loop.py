"""The loop: order, delays, decimation, trips and every sentence of its checks."""

from __future__ import annotations

import numpy as np
import pytest

from rt_runtime import ConfigError, Delay, Gain, Loop, Noise, PythonBlock, StateSpace, Sum, Table, Tripped, previous
from tests.reference.loops import chain


def test_a_tick_calls_the_blocks_in_order_and_previous_is_last_ticks_value() -> None:
    record = chain().run(0.5)
    u = np.arange(50) / 100.0
    y = np.zeros(50)
    for k in range(50):
        y[k] = 0.5 * (u[k] - (y[k - 1] if k else 0.0))
    np.testing.assert_allclose(record["y"], y, atol=1e-15)
    np.testing.assert_allclose(record["late"], np.concatenate([np.zeros(3), y[:-3]]), atol=1e-15)
    np.testing.assert_allclose(record.time, u)
    assert record.ended == "finished"
    assert record.ticks == 50


def test_every_holds_the_outputs_in_between() -> None:
    loop = Loop(10.0)
    loop.signal("u")
    loop.signal("y")
    loop.add("ramp", Table([0.0, 1.0], [0.0, 10.0]), outputs=["u"])
    loop.add("slow", Gain(1.0), inputs=["u"], outputs=["y"], every=3)
    np.testing.assert_allclose(loop.run(0.8)["y"], [0, 0, 0, 3, 3, 3, 6, 6], atol=1e-12)


def test_two_runs_give_the_same_bits() -> None:
    loop = Loop(1000.0)
    for name in ("n", "x"):
        loop.signal(name)
    loop.add("noise", Noise(1.0, seed=3), outputs=["n"])
    loop.add("plant", StateSpace([[-3.0]], [[1.0]], [[1.0]], dt=1e-3), inputs=["n"], outputs=["x"])
    first, second = loop.run(2.0), loop.run(2.0)
    np.testing.assert_array_equal(first.values, second.values)
    assert first.values.std() > 0


def test_a_value_that_is_not_finite_trips_with_the_record_so_far() -> None:
    loop = Loop(10.0)
    loop.signal("x")
    grows = StateSpace([[1e200]], np.zeros((1, 0)), [[1.0]], dt=0.1, method="discrete", initial=[1.0])
    loop.add("unstable", grows, outputs=["x"])
    with pytest.raises(Tripped, match=r"Tripped at tick 2 \(0\.2 s\): signal 'x' of block 'unstable' is inf") as error:
        loop.run(1.0)
    assert error.value.tick == 2
    np.testing.assert_array_equal(error.value.record["x"], [1.0, 1e200, np.inf])
    assert error.value.record.ended == str(error.value)


def test_an_exception_in_a_python_block_trips() -> None:
    def fails(t, u):
        if t > 0.25:
            raise ValueError("sensor unplugged")
        return [t]

    loop = Loop(10.0)
    loop.signal("x")
    loop.add("sensor", PythonBlock(fails, n_in=0, n_out=1), outputs=["x"])
    with pytest.raises(
        Tripped, match=r"tick 3 \(0\.3 s\): block 'sensor' could not step: ValueError: sensor unplugged\."
    ):
        loop.run(1.0)
    loop = Loop(10.0)
    loop.signal("x")
    loop.add("sensor", PythonBlock(lambda t, u: [1.0, 2.0], n_in=0, n_out=1), outputs=["x"])
    with pytest.raises(Tripped, match=r"must return 1 numbers, got 2"):
        loop.run(1.0)


def test_the_loop_describes_itself() -> None:
    text = str(chain())
    assert "Loop at 100 Hz, 4 signals, 4 blocks" in text
    assert "error: u, previous(y) -> e" in text


def test_undeclared_delays_are_all_named_with_their_cycle() -> None:
    loop = Loop(10.0)
    for name in ("a", "b", "c", "lost"):
        loop.signal(name)
    loop.add("first", Sum("++"), inputs=["c", "lost"], outputs=["a"])
    loop.add("second", Gain(1.0), inputs=["a"], outputs=["b"])
    loop.add("third", Gain(1.0), inputs=["b"], outputs=["c"])
    with pytest.raises(ConfigError) as error:
        loop.check()
    message = str(error.value)
    assert message.startswith("Loop has 2 problems:")
    assert (
        "Block 'first' reads signal 'c' before block 'third' writes it in the tick (they form a cycle: "
        "first -> second -> third -> first); add the writer first or declare last tick's value with previous('c')."
    ) in message
    assert (
        "Signal 'lost' is read by block 'first' but no block writes it; add its writer or declare it with loop.constant."
    ) in message


def test_a_block_that_reads_its_own_output_must_declare_it() -> None:
    loop = Loop(10.0)
    loop.signal("x")
    loop.add("self", Gain(0.5), inputs=["x"], outputs=["x"])
    with pytest.raises(ConfigError, match=r"they form a cycle: self -> self"):
        loop.check()


def test_previous_of_a_value_that_is_already_fresh_is_refused() -> None:
    loop = Loop(10.0)
    loop.signal("a")
    loop.signal("b")
    loop.constant("one", 1.0)
    loop.add("writer", Gain(1.0), inputs=["one"], outputs=["a"])
    loop.add("reader", Gain(1.0), inputs=[previous("a")], outputs=["b"])
    with pytest.raises(
        ConfigError, match=r"Block 'reader' declares previous\('a'\) but block 'writer' writes it earlier"
    ):
        loop.check()


def signals(*names: str) -> Loop:
    loop = Loop(100.0)
    for name in names:
        loop.signal(name)
    return loop


def add_twice(loop: Loop, one: str, two: str, outputs: tuple[str, str], same: bool = False) -> None:
    block = Table([0.0], [1.0])
    loop.add(one, block, outputs=[outputs[0]])
    loop.add(two, block if same else Table([0.0], [1.0]), outputs=[outputs[1]])


BAD = [
    (lambda: Loop(0.0), r"rate of Loop must be a positive number, got 0\.0\."),
    (lambda: Loop(10.0).signal("1x"), r"Name of a signal must be letters, digits, dots and underscores, got '1x'\."),
    (lambda: signals("a", "a"), r"Signal 'a' of the loop must have a name of its own, but it is declared already\."),
    (lambda: Loop(10.0).signal("a", initial=np.nan), r"initial of signal 'a' must be finite, got nan\."),
    (lambda: Loop(10.0).add("b", 3), r"Block 'b' of the loop must be a block of rt_runtime, got 3\."),
    (
        lambda: Loop(10.0).add("a b", Gain(1.0)),
        r"Name of a block must be letters, digits, dots and underscores, got 'a b'",
    ),
    (
        lambda: signals("a").add("g", Gain(1.0), inputs=["zz"], outputs=["a"]),
        r"Signal 'zz' in the inputs of block 'g' is unknown; declare it with loop\.signal first\.",
    ),
    (
        lambda: signals("a").add("g", Gain(1.0), inputs=["a"], outputs=["zz"]),
        r"Signal 'zz' in the outputs of block 'g' is unknown; declare it with loop\.signal first\.",
    ),
    (lambda: signals("a").add("g", Gain(1.0), outputs=["a"]), r"inputs of block 'g' must name 1 signals, got 0\."),
    (lambda: signals("a").add("g", Gain(1.0), inputs=["a"]), r"outputs of block 'g' must name 1 signals, got 0\."),
    (lambda: signals("a").add("g", Gain(1.0), inputs="a"), r"inputs and outputs of block 'g' must be lists of signal"),
    (
        lambda: add_twice(signals("a", "b"), "t", "t", ("a", "b")),
        r"Block 't' of the loop must have a name of its own, but it is taken\.",
    ),
    (
        lambda: add_twice(signals("a", "b"), "t", "s", ("a", "b"), same=True),
        r"Block 's' is in the loop already under another name; build a second one\.",
    ),
    (
        lambda: add_twice(signals("a"), "t", "s", ("a", "a")),
        r"Signal 'a' of the loop must have one writer, got 't' and 's'\.",
    ),
    (
        lambda: signals("a").add("t", Table([0.0], [1.0]), outputs=["a"], every=0),
        r"every of block 't' must be a whole number of at least 1, got 0\.",
    ),
    (
        lambda: signals("a").add("s", StateSpace([[0.0]], np.zeros((1, 0)), [[1.0]], dt=0.02), outputs=["a"]),
        r"Block 's' must be built for dt = 0\.01 s \(every 1 ticks at 100 Hz\), got 0\.02 s\.",
    ),
    (lambda: signals("a").record(["b"]), r"Signal 'b' to record is unknown; the loop has a\."),
    (lambda: signals("a").record("a"), r"signals of record must be a list of signal names, got the text 'a'\."),
    (lambda: signals("a").check(), r"Loop must have at least one block; add one with loop\.add\."),
    (lambda: chain().run(-1.0), r"duration of Loop\.run must be a positive number, got -1\.0\."),
    (lambda: chain().run(1e-4), r"duration of Loop\.run must be at least one tick of 0\.01 s, got 0\.0001\."),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[message[:50] for _, message in BAD])
def test_bad_input_is_one_sentence(make, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        make()
    assert "\n" not in str(error.value)


def test_a_constant_is_not_written() -> None:
    loop = Loop(10.0)
    loop.constant("c", 1.0)
    with pytest.raises(ConfigError, match=r"Signal 'c' is a constant; block 't' must write another signal\."):
        loop.add("t", Table([0.0], [1.0]), outputs=["c"])


def test_a_refused_block_leaves_the_loop_as_it_was() -> None:
    loop = chain()
    before = str(loop)
    with pytest.raises(ConfigError):
        loop.add("bad", Delay(1), inputs=["zz"], outputs=["late"])
    assert str(loop) == before
    assert len(loop.run(0.1)) == 10
