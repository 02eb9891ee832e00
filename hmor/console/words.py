"""Events and orders of a test in sentences, and limits as people write them."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

LARGEST = sys.float_info.max
"""Stands for "no limit" on the bus, which holds finite numbers only."""

WRITTEN_WITHIN = 2.0
"""Longest time in s between the tick that takes an order and its entry."""

STATES = {
    "running": "the test runs",
    "holding": "the command is held",
    "ramping": "the command goes to rest",
    "tripped": "the test has tripped",
    "armed": "armed",
    "checked": "checked",
    "idle": "at rest",
}
CAUSES = {
    ("", "ramping"): "the end of the test, or a stop was asked for",
    ("", "running"): "the rules hold again",
    ("operator", "running"): "by the operator",
}
"""Why a state was entered, where no rule says it."""


def finite(value: float) -> float | None:
    """Return the value, or None for one that JSON cannot hold or that stands for no limit."""
    return value if math.isfinite(value) and abs(value) < LARGEST else None


def interval(lower: float | None, upper: float | None) -> str:
    """Write an interval as briefly as it can be read: ±2, at most 3, at least 0, 1 to 4."""
    if lower is not None and upper is not None:
        return f"±{upper:g}" if lower == -upper and upper > 0 else f"{lower:g} to {upper:g}"
    return f"at most {upper:g}" if upper is not None else f"at least {lower:g}" if lower is not None else "no limit"


def told(
    events: Sequence[Mapping[str, Any]], orders: Sequence[Mapping[str, Any]], rules: Sequence[Mapping[str, Any]]
) -> list[list[Any]]:
    """Return events and orders by their ticks: [tick, who, sentence, rule that stopped the test or ""].

    `who` is monitor, host (a rule on the host itself) or operator.
    """
    named = {rule["name"]: rule for rule in rules}
    last = {(event["tick"], event["rule"], event["action"]): event for event in events}  # with the state it led to
    rows = [_event(event, _in_force(named.get(event["rule"]), event, rules, orders)) for event in last.values()]
    rows += [[order["tick"], "operator", _order(order), ""] for order in orders]
    return sorted(rows, key=lambda row: row[0])


def _in_force(
    rule: Mapping[str, Any] | None,
    event: Mapping[str, Any],
    rules: Sequence[Mapping[str, Any]],
    orders: Sequence[Mapping[str, Any]],
) -> Mapping[str, Any] | None:
    """Return a rule with the limits that the operator had given it by an event.

    An order is written down some ticks after the loop took it: one that follows at once was in force already when the
    limits before it allow the value that broke them.
    """
    for order in orders:
        if rule and order["do"] == "limit" and not order.get("refused"):
            i, lower, upper = order["arguments"]
            at_once = order["time"] - event["time"] < WRITTEN_WITHIN and _allows(rule, event["value"])
            if rules[int(i)]["name"] == rule["name"] and (order["tick"] <= event["tick"] or at_once):
                rule = {**rule, "lower": finite(lower), "upper": finite(upper)}
    return rule


def _allows(rule: Mapping[str, Any], value: Any) -> bool:
    lower, upper = rule.get("lower"), rule.get("upper")
    if not isinstance(value, int | float):
        return False
    return bool((-math.inf if lower is None else lower) <= value <= (math.inf if upper is None else upper))


def _event(event: Mapping[str, Any], rule: Mapping[str, Any] | None) -> list[Any]:
    at, state, name = f"{event['time']:.3f} s", STATES.get(event["state"], event["state"]), event["rule"]
    if rule is None:
        cause = CAUSES.get((name, event["state"]), f"by the {name}" if name == "operator" else name)
        return [event["tick"], "monitor", f"{at}  {state[:1].upper()}{state[1:]}: {cause or 'as ordered'}.", ""]
    value = event["value"] if isinstance(event["value"], str) else f"{event['value']:.4g}"
    quantity = "" if rule["quantity"] == "value" else f"{rule['quantity']} of "
    what = f"{quantity}{rule['signal']} is {value}, allowed {interval(rule.get('lower'), rule.get('upper'))}"
    who = "host" if rule["signal"].startswith("host.") else "monitor"
    broke = name if event["action"] in ("hold", "ramp", "trip") else ""
    return [event["tick"], who, f"{at}  Rule '{name}' ({event['action']}): {what}; {state}.", broke]


def _order(order: Mapping[str, Any]) -> str:
    text = f": {order['text']}" if order.get("text") else ""
    refused = f", refused: {order['refused']}" if order.get("refused") else ""
    return f"{order['time']:.3f} s  {order['who'].capitalize()}: {order['do']}{text}{refused}."
