"""Events and orders of a test in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

STATES = {
    "running": "the test runs",
    "holding": "the command is held",
    "ramping": "the command goes to rest",
    "tripped": "the test has tripped",
    "armed": "armed",
    "checked": "checked",
    "idle": "at rest",
}


def event_words(event: Mapping[str, Any], about: Mapping[str, Any]) -> tuple[int, str]:
    """Return the tick of an event of the monitor, and a sentence."""
    at, state = f"{event['time']:.3f} s", STATES.get(event["state"], event["state"])
    rule = event["rule"]
    limits = next((r for r in about["rules"] if r["name"] == rule), None)
    if limits is None:
        who = {"operator": "by the operator", "": "on request, at its end, or because the rules hold again"}.get(
            rule, rule
        )
        return event["tick"], f"{at}  {state} {who}."
    value = event["value"] if isinstance(event["value"], str) else f"{event['value']:.6g}"
    interval = f"{limits.get('lower', 'no limit')} .. {limits.get('upper', 'no limit')}"
    what = f"{limits['quantity']} of {limits['signal']} is {value}, allowed {interval}"
    return event["tick"], f"{at}  rule '{rule}' ({event['action']}): {what}; {state}."


def order_words(order: Mapping[str, Any]) -> tuple[int, str]:
    """Return the tick of an order of the operator, and a sentence."""
    text = f": {order['text']}" if order.get("text") else ""
    refused = f", refused: {order['refused']}" if order.get("refused") else ""
    return order["tick"], f"{order['time']:.3f} s  {order['who']}: {order['do']}{text}{refused}."
