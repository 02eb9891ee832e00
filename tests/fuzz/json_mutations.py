"""Mutations of bundle.json: values of the wrong type, size or content, and text that is no JSON."""

from __future__ import annotations

import json
import random
from typing import Any

Files = dict[str, bytes]
Rng = random.Random

WORDS = [
    "", "x", "u", "y", "state", "float32", "pce", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\u202e", "\ud800", "a\nb", "\0",
    "../x", "/etc/passwd", "a" * 5000, "[bold]", "%s%n", "\u00e9", "1e5", "null",
]  # fmt: skip
NUMBERS: list[Any] = [
    0,
    1,
    -1,
    2,
    7,
    199,
    1000,
    2**31 - 1,
    2**31,
    2**63 - 1,
    -(2**63),
    2**64,
    10**400,
    0.5,
    -0.0,
    1e-320,
]
NUMBERS += [1e308, -1e308, 1e-9, 1e-3]


def paths(value: object, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [prefix, *(path for key, item in inner for path in paths(item, (*prefix, key)))]


def anything(rng: Rng, value: object = None) -> Any:
    """Return a JSON value that may have the wrong type, size or content."""
    deep: Any = 1
    for _ in range(rng.choice((3, 30, 40))):
        deep = [deep] if rng.random() < 0.5 else {"a": deep}
    number = value * rng.choice((-1, 2, 0.5, 1 + 1e-6)) if type(value) in (int, float) else rng.choice(NUMBERS)
    return rng.choice(
        [
            None,
            True,
            False,
            number,
            rng.choice(NUMBERS),
            rng.choice(WORDS),
            [],
            {},
            [value],
            {"name": value},
            str(value),
        ]
        + [deep, [rng.choice(NUMBERS)] * rng.choice((1, 2, 2000)), {rng.choice(WORDS): 1}]
    )


def json_value(rng: Rng, files: Files) -> None:
    """Replace, delete, double or add a value somewhere in bundle.json."""
    try:
        description = json.loads(files["bundle.json"])
        place = rng.choice(paths(description)[1:])
    except (ValueError, IndexError, KeyError):
        return
    target = description
    for key in place[:-1]:
        target = target[key]
    key = place[-1]
    way = rng.random()
    if way < 0.65:
        target[key] = anything(rng, target[key])
    elif way < 0.8:
        del target[key]
    elif isinstance(target, list):
        target.extend([target[key]] * rng.choice((1, 3, 500)))
    else:
        target[rng.choice(WORDS)] = target[key]
    files["bundle.json"] = json.dumps(description).encode()


def raw_text(rng: Rng, files: Files) -> None:
    """Change the text of bundle.json below the level of JSON values."""
    if "bundle.json" not in files:
        return
    text = files["bundle.json"]
    at = rng.randrange(len(text) + 1)
    inserts = [
        b"NaN",
        b"Infinity",
        b"[" * 200,
        b'{"a":' * 50,
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b'"',
        b"\\",
        b",",
        b"\0",
        b"9" * 5000,
    ]
    inserts += [b'"format": 1, ', b"/* x */", b"\\ud800", b"1e999"]
    files["bundle.json"] = rng.choice(
        [text[:at] + rng.choice(inserts) + text[at:], text[:at], b"", text[at:] + text[:at]]
    )


def of_kind(rng: Rng, files: Files, suffix: str) -> str | None:
    names = sorted(name for name in files if name.endswith(suffix))
    return rng.choice(names) if names else None


def spoiled(rng: Rng, content: bytes) -> bytes:
    """Return bytes with some of them changed, added or cut off."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 2, 8))):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)
    at = rng.randrange(len(data) + 1)
    return bytes(rng.choice([data, data, data[:at], data[:at] + rng.randbytes(5) + data[at:]]))
