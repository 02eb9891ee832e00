"""Hysteresis operators as ONNX nodes: Max, Min and a few comparisons on whole vectors."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mor.reduced.hysteresis.front import Front
from mor.reduced.hysteresis.operators import (
    BOUC_WEN,
    HIGHEST,
    LOWEST,
    PLAY,
    POWER,
    PRODUCT,
    RELAXATION,
    REVERSALS,
    SIZE,
    STEEL,
    STOP,
    TRAIL,
)
from mor.reduced.hysteresis.steel import CURVED, LEAST_W, MOST_LOG, R0, R1
from rt_runtime.checks import Array

Ints = NDArray[np.int64]
TINY = {"float64": 1e-300, "float32": 1e-37}  # lower clip for a logarithm


class Nodes(Protocol):
    """What a graph offers to append nodes."""

    dtype: np.dtype[Any]

    def hold(self, name: str, values: NDArray[Any]) -> str:
        """Store an initializer and return its name."""
        ...

    def flags(self, name: str, values: NDArray[Any]) -> str:
        """Store an initializer of truth values and return its name."""
        ...

    def node(self, operator: str, inputs: list[str], output: str, attributes: dict[str, Any] | None = None) -> str:
        """Append a node and return the name of its output."""
        ...

    def part(self, x: str, start: int, end: int, output: str) -> str:
        """Append columns start to end of x."""
        ...


def operators(graph: Nodes, front: Front, u: str, state: str, first: int) -> tuple[list[str], list[str]]:
    """Append the operators on signals `u` with their states in `state` from column `first` on.

    Returns one name for the features and one for the next states (lists, empty where there are none), in order.
    """
    writer = _Writer(graph, front, u, state, first)
    return writer.features(), writer.states()


class _Writer:
    """Groups of primitives of one kind, each written once; then their results are put in order."""

    def __init__(self, graph: Nodes, front: Front, u: str, state: str, first: int) -> None:
        self.graph, self.front, self.u, self.state, self.first = graph, front, u, state, first
        self.phi: list[tuple[str, Ints]] = []  # name of a vector, which features it holds
        self.moved: list[tuple[str, Ints]] = []
        codes = front.table[:, 0]
        plays = (codes == PLAY) | (codes == STOP)
        self._plays(front.table[plays], front.numbers[plays, 0])
        self._bouc_wen(front.table[codes == BOUC_WEN], front.numbers[codes == BOUC_WEN])
        self._relaxations(front.table[codes == RELAXATION], front.numbers[codes == RELAXATION, 0])
        trails = codes == TRAIL
        self._trails(front.table[trails], front.numbers[trails])
        self._steel(front.table[codes == STEEL], front.numbers[codes == STEEL])
        for code, operator, name in ((HIGHEST, "Max", "highest"), (LOWEST, "Min", "lowest")):
            rows = front.table[codes == code]
            if len(rows):
                now = graph.node(operator, [self._state(rows[:, 3], name), self._signal(rows[:, 1], name)], name)
                self.phi.append((now, rows[:, 4]))
                self.moved.append((now, rows[:, 3]))
        for i, (row, (number, *_)) in enumerate(zip(front.table, front.numbers, strict=True)):
            if row[0] == REVERSALS:
                self._reversals(row, float(number), f"turn{i}")
            elif row[0] in (POWER, SIZE):
                self._power(row, float(number), f"power{i}")
            elif row[0] == PRODUCT:
                parts = [self._signal(row[j : j + 1], f"product{i}_{j}") for j in (1, 2)]
                self.phi.append((graph.node("Mul", parts, f"product{i}"), row[4:5]))

    def features(self) -> list[str]:
        """Return the name of the features."""
        return self._in_order(self.phi, "features")

    def states(self) -> list[str]:
        """Return the name of the next states."""
        return self._in_order(self.moved, "operators_next")

    def _in_order(self, parts: list[tuple[str, Ints]], name: str) -> list[str]:
        if not parts:
            return []
        whole = self.graph.node("Concat", [part for part, _ in parts], f"{name}_by_kind", {"axis": 1})
        order = np.argsort(np.concatenate([place for _, place in parts]))
        return [self._gather(whole, order, name)]

    def _gather(self, x: str, columns: Ints, output: str) -> str:
        index = self.graph.hold(f"{output}_columns", np.asarray(columns, dtype=np.int64))
        return self.graph.node("Gather", [x, index], output, {"axis": 1})

    def _signal(self, columns: Ints, name: str) -> str:
        return self._gather(self.u, columns, f"{name}_input")

    def _state(self, places: Ints, name: str) -> str:
        return self._gather(self.state, self.first + np.asarray(places), f"{name}_before")

    def _play(self, p: str, x: str, radius: Array, name: str) -> str:
        """min(max(p, x - radius), x + radius)."""
        r = self.graph.hold(f"{name}_radius", radius)
        low = self.graph.node("Sub", [x, r], f"{name}_low")
        high = self.graph.node("Add", [x, r], f"{name}_high")
        return self.graph.node("Min", [self.graph.node("Max", [p, low], f"{name}_above"), high], name)

    def _plays(self, rows: Ints, radii: Array) -> None:
        if not len(rows):
            return
        x = self._signal(rows[:, 1], "play")
        now = self._play(self._state(rows[:, 3], "play"), x, radii, "play")
        self.moved.append((now, rows[:, 3]))
        plays, stops = np.flatnonzero(rows[:, 0] == PLAY), np.flatnonzero(rows[:, 0] == STOP)
        if len(plays):
            self.phi.append((self._gather(now, plays, "play_features"), rows[plays, 4]))
        if len(stops):
            rest = self.graph.node("Sub", [x, now], "stop")
            self.phi.append((self._gather(rest, stops, "stop_features"), rows[stops, 4]))

    def _reversals(self, row: Ints, threshold: float, name: str) -> None:
        """A turning point is where the play was when its direction d changed, p + d threshold."""
        graph, at, count = self.graph, int(row[3]), int(row[5])
        p, d = (self._state(np.array([at + i]), f"{name}_{what}") for i, what in ((0, "p"), (1, "d")))
        points = [self._state(np.array([at + 2 + i]), f"{name}_{i + 1}") for i in range(count)]
        now = self._play(p, self._signal(row[1:2], name), np.array([threshold]), f"{name}_play")
        zero, one, other = (graph.hold(f"{name}_{k}", np.array([v])) for k, v in (("0", 0.0), ("1", 1.0), ("m1", -1.0)))
        way = graph.node("Sub", [now, p], f"{name}_way")
        turned = graph.node("Less", [graph.node("Mul", [d, way], f"{name}_against"), zero], f"{name}_turned")
        beyond = graph.node("Mul", [d, graph.hold(f"{name}_threshold", np.array([threshold]))], f"{name}_beyond")
        point = graph.node("Add", [p, beyond], f"{name}_point")
        shifted = [
            graph.node("Where", [turned, new, old], f"{name}_next_{i}")
            for i, (new, old) in enumerate(zip([point, *points[:-1]], points, strict=True), 1)
        ]
        down = graph.node("Where", [graph.node("Less", [way, zero], f"{name}_down"), other, d], f"{name}_down_or_held")
        direction = graph.node("Where", [graph.node("Greater", [way, zero], f"{name}_up"), one, down], f"{name}_next_d")
        for i, result in enumerate([now, direction, *shifted]):
            self.moved.append((result, np.array([at + i])))
        for i, result in enumerate(shifted):
            self.phi.append((result, np.array([int(row[4]) + i])))

    def _relaxations(self, rows: Ints, poles: Array) -> None:
        """a h + (1 - a) x."""
        if not len(rows):
            return
        graph = self.graph
        pole, rest = graph.hold("relaxed_pole", poles), graph.hold("relaxed_rest", 1.0 - poles)
        kept = graph.node("Mul", [self._state(rows[:, 3], "relaxed"), pole], "relaxed_kept")
        new = graph.node("Mul", [self._signal(rows[:, 1], "relaxed"), rest], "relaxed_new")
        now = graph.node("Add", [kept, new], "relaxed")
        self.moved.append((now, rows[:, 3]))
        self.phi.append((now, rows[:, 4]))

    def _trails(self, rows: Ints, numbers: Array) -> None:
        """g + (m - g) exp(-|x - before| / L) with g = (x + before) / 2, or of their sizes."""
        if not len(rows):
            return
        graph = self.graph
        x, before = self._signal(rows[:, 1], "trail"), self._state(rows[:, 3], "trail_signal")
        m = self._state(rows[:, 3] + 1, "trail")
        way = graph.node("Abs", [graph.node("Sub", [x, before], "trail_step")], "trail_way")
        share = graph.node("Mul", [way, graph.hold("trail_rate", -1.0 / numbers[:, 0])], "trail_share")
        kept = graph.node("Exp", [share], "trail_kept")
        sized = numbers[:, 1]
        plain = graph.node("Add", [x, before], "trail_sum")
        sizes = graph.node("Add", [graph.node("Abs", [v], f"trail_{k}") for k, v in (("now", x), ("then", before))],
                           "trail_sizes")  # fmt: skip
        halves = [
            graph.node("Mul", [v, graph.hold(f"trail_half{k}", 0.5 * weight)], f"trail_part{k}")
            for k, v, weight in ((0, plain, 1.0 - sized), (1, sizes, sized))
        ]
        mean = graph.node("Add", halves, "trail_mean")
        rest = graph.node("Mul", [graph.node("Sub", [m, mean], "trail_rest"), kept], "trail_fading")
        now = graph.node("Add", [mean, rest], "trail")
        self.moved += [(x, rows[:, 3]), (now, rows[:, 3] + 1)]
        self.phi.append((now, rows[:, 4]))

    def _steel(self, rows: Ints, numbers: Array) -> None:
        """All bars side by side; the equations stand in `mor.reduced.hysteresis.steel`."""
        if not len(rows):
            return
        graph, (plus, minus, radius) = self.graph, numbers.T
        values: dict[str, Any] = {
            "plus": plus, "minus": minus, "0": [0.0], "1": [1.0], "m1": [-1.0], "least": [LEAST_W],
            "most": [-LEAST_W], "c": [CURVED], "R0": [R0], "R1": [R1], "tiny": [TINY[graph.dtype.name]],
            "limit": [MOST_LOG],
        }  # fmt: skip
        c = {name: graph.hold(f"bar_{name}", np.asarray(v, dtype=np.float64)) for name, v in values.items()}

        def node(operator: str, *inputs: str, name: str) -> str:
            return graph.node(operator, list(inputs), f"bar_{name}")

        def strain(x: str, name: str) -> str:
            up = node("Mul", node("Max", x, c["0"], name=f"{name}_up"), c["plus"], name=f"{name}_bent_up")
            down = node("Mul", node("Min", x, c["0"], name=f"{name}_down"), c["minus"], name=f"{name}_bent_down")
            return node("Add", up, down, name=name)

        names = ("play", "d", "e_turn", "q_turn", "q", "highest", "lowest")
        before, d, e_turn, q_turn, q, high, low = (self._state(rows[:, 3] + i, f"bar_{k}") for i, k in enumerate(names))
        now = self._play(before, self._signal(rows[:, 1], "bar"), radius, "bar_play")
        last, e = strain(before, "last"), strain(now, "e")
        step = node("Sub", e, last, name="step")
        turned = node("Less", node("Mul", d, step, name="against"), c["0"], name="turned")
        e_turn = node("Where", turned, last, e_turn, name="e_turned")
        q_turn = node("Where", turned, q, q_turn, name="q_turned")
        high = node("Where", turned, node("Max", high, last, name="higher"), high, name="next_high")
        low = node("Where", turned, node("Min", low, last, name="lower"), low, name="next_low")
        d = node("Where", node("Less", step, c["0"], name="falls"), c["m1"], d, name="falls_or_held")
        d = node("Where", node("Greater", step, c["0"], name="rises"), c["1"], d, name="next_d")
        down = node("Less", d, c["0"], name="downwards")
        rest = node("Sub", d, q_turn, name="rest")
        negative, positive = (
            node("Min", rest, c["most"], name="rest_down"),
            node("Max", rest, c["least"], name="rest_up"),
        )
        w = node("Where", down, negative, positive, name="w")
        lowest, highest = node("Min", low, c["m1"], name="far_down"), node("Max", high, c["1"], name="far_up")
        far = node("Where", down, lowest, highest, name="far")
        xi = node("Abs", node("Sub", node("Sub", far, e_turn, name="far_turn"), w, name="yielded"), name="xi")
        share = node("Div", xi, node("Add", c["c"], xi, name="xi_c"), name="share")
        R = node("Sub", c["R0"], node("Mul", c["R1"], share, name="rounded"), name="R")
        way = node("Sub", e, e_turn, name="way")
        r = node("Max", node("Div", way, w, name="ratio"), c["tiny"], name="r")
        power = node("Mul", node("Log", r, name="log_r"), R, name="log_power")
        power = node("Exp", node("Min", power, c["limit"], name="log_limited"), name="power")
        log = node("Div", node("Log", node("Add", c["1"], power, name="sum"), name="log_sum"), R, name="log_root")
        kept = node("Exp", node("Neg", log, name="log_kept"), name="kept")
        q = node("Add", q_turn, node("Mul", way, kept, name="gone"), name="free")
        q = node("Min", node("Max", q, c["m1"], name="q_above"), c["1"], name="stress")
        for i, result in enumerate((now, d, e_turn, q_turn, q, high, low)):
            self.moved.append((result, rows[:, 3] + i))
        self.phi.append((q, rows[:, 4]))

    def _bouc_wen(self, rows: Ints, numbers: Array) -> None:
        """One Runge-Kutta step of all cells side by side; w is the change of the signal over their lengths."""
        if not len(rows):
            return
        graph, (length, sharpness, beta) = self.graph, numbers.T
        values: dict[str, Any] = {
            "length": length, "sharpness": sharpness, "with": np.ones_like(beta), "against": 1.0 - 2.0 * beta,
            "least": [-2.0], "most": [2.0], "zero": [0.0], "one": [1.0], "minus": [-1.0], "half": [0.5], "two": [2.0],
            "six": [6.0], "tiny": [TINY[graph.dtype.name]],
        }  # fmt: skip
        held = {name: graph.hold(f"slip_{name}", np.asarray(v, dtype=np.float64)) for name, v in values.items()}
        x, z = self._signal(rows[:, 1], "slip"), self._state(rows[:, 3] + 1, "slip")
        way = graph.node("Sub", [x, self._state(rows[:, 3], "slip_signal")], "slip_way")
        way = graph.node("Div", [way, held["length"]], "slip_ways")
        w = graph.node("Min", [graph.node("Max", [way, held["least"]], "slip_above"), held["most"]], "slip_w")
        point, total = z, ""
        for stage in range(4):

            def node(operator: str, *inputs: str, name: str, stage: int = stage) -> str:
                return graph.node(operator, list(inputs), f"slip_{name}_{stage}")

            log = node("Log", node("Max", node("Abs", point, name="abs"), held["tiny"], name="size"), name="log")
            power = node("Exp", node("Mul", log, held["sharpness"], name="scaled"), name="power")
            along = node("Greater", node("Mul", point, w, name="sense"), held["zero"], name="along")
            factor = node("Where", along, held["with"], held["against"], name="factor")
            rest = node("Sub", held["one"], node("Mul", power, factor, name="loss"), name="rest")
            k = node("Mul", rest, w, name="k")
            twice = k if stage in (0, 3) else node("Mul", k, held["two"], name="twice")
            total = twice if stage == 0 else node("Add", total, twice, name="total")
            if stage < 3:
                move = k if stage == 2 else node("Mul", k, held["half"], name="move")
                point = node("Add", z, move, name="point")
        new = graph.node("Add", [z, graph.node("Div", [total, held["six"]], "slip_mean")], "slip_free")
        new = graph.node("Min", [graph.node("Max", [new, held["minus"]], "slip_low"), held["one"]], "slip")
        self.moved += [(x, rows[:, 3]), (new, rows[:, 3] + 1)]
        self.phi.append((new, rows[:, 4]))

    def _power(self, row: Ints, exponent: float, name: str) -> None:
        """v exp((a - 1) ln |v|), or exp(a ln |v|), with a lower clip for the logarithm."""
        graph, v = self.graph, self._signal(row[1:2], name)
        tiny = graph.hold(f"{name}_tiny", np.array([TINY[graph.dtype.name]]))
        log = graph.node("Log", [graph.node("Max", [graph.node("Abs", [v], f"{name}_abs"), tiny], f"{name}_above")],
                         f"{name}_log")  # fmt: skip
        signed = row[0] == POWER
        factor = graph.hold(f"{name}_exponent", np.array([exponent - 1.0 if signed else exponent]))
        size = graph.node("Exp", [graph.node("Mul", [log, factor], f"{name}_scaled")], f"{name}_size")
        self.phi.append((graph.node("Mul", [v, size], name) if signed else size, row[4:5]))
