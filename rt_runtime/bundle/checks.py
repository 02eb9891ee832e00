"""What bundle.json must say, each check with its sentence. Outside the loop."""

from __future__ import annotations

import re
import sys
from typing import Any

from rt_runtime.bundle.files import (
    DESCRIPTION,
    MAX_FILE,
    MAX_FILES,
    MAX_MODEL,
    MAX_MODELS,
    MAX_TOTAL,
    SIGNATURE,
    safe_name,
)

KINDS = ("ffnn", "pce", "kriging", "gru")
TOLERANCES = {"float64": 1e-9, "float32": 1e-3}
"""The largest tolerance a bundle may claim, by precision: golden vectors that anything repeats prove nothing."""
KERNEL_TOLERANCE = 1e-7
"""In float64 for `kriging`: a sum of kernels is a difference of large numbers, and rounding follows their order."""


def largest_tolerance(kind: str, precision: str) -> float:
    """Return the largest tolerance a model of a kind may claim in a precision."""
    return KERNEL_TOLERANCE if (kind, precision) == ("kriging", "float64") else TOLERANCES[precision]


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
_HASH = re.compile(r"[0-9a-f]{64}\Z")


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) <= sys.float_info.max  # neither infinite nor nan, nor a whole number that no float holds


def _is_range(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)) and value[0] < value[1]


def check_description(description: dict[str, Any]) -> list[str]:
    """Return every problem of a parsed bundle.json of the present format."""
    problems = []
    keys = {"format", "sha256", "models", "provenance", "files"}
    if set(description) != keys:
        return [f"bundle.json must have the keys {', '.join(sorted(keys))}, got {', '.join(sorted(description))}."]
    if not isinstance(description["sha256"], str) or not _HASH.match(description["sha256"]):
        problems.append(f"sha256 of bundle.json must be 64 hexadecimal digits, got {description['sha256']!r}.")
    if not isinstance(description["provenance"], dict):
        problems.append("provenance in bundle.json must be an object.")
    files = description["files"]
    if not isinstance(files, dict) or not files:
        return [*problems, "files in bundle.json must be an object with one entry for each file."]
    if len(files) > MAX_FILES:
        return [*problems, f"files in bundle.json must have at most {MAX_FILES} entries, got {len(files)}."]
    problems += _check_files(files)
    models = description["models"]
    if not isinstance(models, list) or not 1 <= len(models) <= MAX_MODELS:
        return [*problems, f"models in bundle.json must be a list with at least one and at most {MAX_MODELS} models."]
    for at, entry in enumerate(models):
        problems += _check_model(entry, f"models[{at}]", set(files))
    if problems:
        return problems
    names = [entry["name"] for entry in models]
    if len(set(names)) != len(names):
        problems.append(f"Names of the models in bundle.json must differ, got {', '.join(names)}.")
    for key in ("onnx", "golden"):
        own = [entry[key] for entry in models]
        if len(set(own)) != len(own):
            problems.append(f"Each model in bundle.json must have its own {key} file, got {', '.join(own)}.")
        for name in own:
            if files[name]["bytes"] > MAX_MODEL:
                problems.append(f"File '{name}' must have at most {MAX_MODEL} bytes, got {files[name]['bytes']}.")
    return problems


def _check_files(files: dict[str, Any]) -> list[str]:
    """Check the list of the files: their names, sizes and hashes."""
    problems, total = [], 0
    for name, entry in files.items():
        if not safe_name(name) or name in (DESCRIPTION, SIGNATURE):
            problems.append(f"File name {name!r} in bundle.json must be a plain relative path inside the bundle.")
        if not (
            isinstance(entry, dict)
            and set(entry) == {"bytes", "sha256"}
            and type(entry["bytes"]) is int
            and entry["bytes"] >= 0
            and isinstance(entry["sha256"], str)
            and _HASH.match(entry["sha256"])
        ):
            problems.append(f"File '{name}' in bundle.json must have its bytes and its sha256.")
        elif entry["bytes"] > MAX_FILE:
            problems.append(f"File '{name}' in bundle.json must have at most {MAX_FILE} bytes, got {entry['bytes']}.")
        else:
            total += entry["bytes"]
    if total > MAX_TOTAL:
        problems.append(f"files in bundle.json must have at most {MAX_TOTAL} bytes together, got {total}.")
    return problems


AROUND = ("gate",)  # what may stand around a model, beside its keys
_MODEL_KEYS = {
    "name", "kind", "precision", "precision_error", "tolerance", "onnx", "golden", "c", "fmu", "inputs", "outputs",
    "dt", "memory", "multiply_adds", "validation", "skipped",
}  # fmt: skip


def _check_model(entry: object, where: str, files: set[str]) -> list[str]:
    if not isinstance(entry, dict) or set(entry) - set(AROUND) != _MODEL_KEYS:
        got = ", ".join(sorted(entry)) if isinstance(entry, dict) else repr(entry)
        return [f"{where} in bundle.json must have the keys {', '.join(sorted(_MODEL_KEYS))}, got {got}."]
    problems = []
    if not isinstance(entry["name"], str) or not _NAME.match(entry["name"]):
        problems.append(f"name of {where} must be a C identifier, got {entry['name']!r}.")
    if entry["kind"] not in KINDS:
        problems.append(f"kind of {where} must be one of {', '.join(KINDS)}, got {entry['kind']!r}; update hybrid-mor.")
    if not isinstance(entry["precision"], str) or entry["precision"] not in TOLERANCES:
        problems.append(f"precision of {where} must be one of {', '.join(TOLERANCES)}, got {entry['precision']!r}.")
        most = max(TOLERANCES.values())
    else:
        most = largest_tolerance(entry["kind"], entry["precision"])
    for key in ("tolerance", "precision_error"):
        if not _is_number(entry[key]) or entry[key] < 0:
            problems.append(f"{key} of {where} must be a number of at least 0, got {entry[key]!r}.")
        elif entry[key] > most:
            problems.append(
                f"{key} of {where} must be at most {most:g} in {entry['precision']}, got {entry[key]!r}; "
                "export it again."
            )
    listed = [entry["onnx"], entry["golden"]]
    for key in ("c", "fmu"):
        if not isinstance(entry[key], list):
            problems.append(f"{key} of {where} must be a list of file names.")
        else:
            listed += entry[key]
    for name in listed:
        if not isinstance(name, str) or name not in files:
            problems.append(f"File {name!r} of {where} must stand under files in bundle.json.")
    problems += _check_signals(entry["inputs"], f"inputs of {where}", "domain", True)
    problems += _check_signals(entry["outputs"], f"outputs of {where}", "bounds", False)
    if not isinstance(entry["validation"], dict):
        problems.append(f"validation of {where} must be an object.")
    if type(entry["multiply_adds"]) is not int or not 0 <= entry["multiply_adds"] < 2**53:
        problems.append(f"multiply_adds of {where} must be an integer of at least 0, got {entry['multiply_adds']!r}.")
    if not isinstance(entry["skipped"], list) or not all(isinstance(text, str) for text in entry["skipped"]):
        problems.append(f"skipped of {where} must be a list of sentences.")
    return problems or _check_memory(entry, where) or _check_gate(entry, where)


def _check_signals(signals: object, where: str, range_key: str, needed: bool) -> list[str]:
    if not isinstance(signals, list) or not signals:
        return [f"{where} must be a list with at least one signal."]
    problems = []
    for signal in signals:
        if not isinstance(signal, dict) or set(signal) != {"name", "unit", range_key}:
            problems.append(f"Each of the {where} must have name, unit and {range_key}.")
            continue
        if not isinstance(signal["name"], str) or not _NAME.match(signal["name"]):
            problems.append(f"Name of one of the {where} must be an identifier, got {signal['name']!r}.")
        if not isinstance(signal["unit"], str) or len(signal["unit"]) > 100:
            problems.append(f"Unit of '{signal['name']}' in {where} must be a text, got {signal['unit']!r}.")
        bounds = signal[range_key]
        if not _is_range(bounds) and (needed or bounds is not None):
            problems.append(
                f"{range_key} of '{signal['name']}' in {where} must be [lower, upper], lower < upper, got {bounds!r}."
            )
    names = [signal.get("name") for signal in signals if isinstance(signal, dict)]
    if len(set(map(str, names))) != len(names):
        problems.append(f"Names of the {where} must differ.")
    return problems


_LAGS = {"input_lags", "output_lags", "state", "initial"}
_OPERATORS = {"operators", "outside"}
OUTSIDE = ("clip", "tangent", "trip")


def _check_meaning(memory: dict[str, Any], where: str) -> list[str]:
    """Check what memory has since format 2: states with a meaning, operators, behaviour outside the domain."""
    state, operators = memory["state"], memory["operators"]
    if not isinstance(state, list) or not all(isinstance(s, dict) and isinstance(s.get("meaning"), str) for s in state):
        return [f"Each state of {where} must say its meaning."]
    if not isinstance(operators, list) or not all(isinstance(o, dict) and "kind" in o for o in operators):
        return [f"operators of {where} must be a list of objects with a kind."]
    if memory["outside"] not in OUTSIDE:
        return [f"outside of {where} must be one of {', '.join(OUTSIDE)}, got {memory['outside']!r}."]
    return []


def _check_memory(entry: dict[str, Any], where: str) -> list[str]:
    memory, dt = entry["memory"], entry["dt"]
    if memory is None:
        if dt is not None:
            return [f"dt of {where} must be null for a model without memory, got {dt!r}."]
        return []
    if not isinstance(memory, dict) or set(memory) not in (_LAGS, _LAGS | _OPERATORS):
        return [f"memory of {where} must have {', '.join(sorted(_LAGS))} (and {', '.join(sorted(_OPERATORS))})."]
    lags = [memory["input_lags"], memory["output_lags"]]
    if not all(type(n) is int and 0 <= n <= 1000 for n in lags):
        return [f"Lags of {where} must be integers from 0 to 1000, got {lags}."]
    new = "operators" in memory
    if (dt is not None or sum(lags) > 0 or not new) and (not _is_number(dt) or dt <= 0):
        return [f"dt of {where} must be positive for a model with memory, got {dt!r}."]
    problems = _check_meaning(memory, where) if new else []
    signals = memory["state"]
    if new and not problems:
        signals = [{key: value for key, value in signal.items() if key != "meaning"} for signal in signals]
    problems = problems or _check_signals(signals, f"state of {where}", "domain", True)
    if not problems:
        size = len(signals) if new else len(entry["inputs"]) * lags[0] + len(entry["outputs"]) * lags[1]
        initial = memory["initial"]
        if size == 0 or len(memory["state"]) != size:
            problems.append(f"state of {where} must have {size} values for its lags, got {len(memory['state'])}.")
        elif not isinstance(initial, list) or len(initial) != size or not all(map(_is_number, initial)):
            problems.append(f"initial of {where} must have {size} numbers.")
    return problems


def _check_gate(entry: dict[str, Any], where: str) -> list[str]:
    if "gate" not in entry:
        return []
    gate, memory = entry["gate"], entry["memory"]
    names = [signal["name"] for signal in (*entry["inputs"], *(() if memory is None else memory["state"]))]
    named = {"outputs"} & set(gate if memory is None and isinstance(gate, dict) else ("outputs",))
    keys = {"input", "span"} | named
    if not isinstance(gate, dict) or set(gate) - {"closed"} != keys or gate["input"] not in names:
        also = "" if memory is None else ", the outputs that vanish"
        return [f"gate of {where} must have an input out of {', '.join(names)}{also} and a span, got {gate!r}."]
    if not _is_number(gate["span"]) or gate["span"] <= 0:
        return [f"span of the gate of {where} must be positive, got {gate['span']!r}."]
    closed = gate.get("closed", 0)
    if not _is_number(closed) or not 0 <= closed < gate["span"]:
        return [f"closed of the gate of {where} must lie in [0, {gate['span']:g}), below its span, got {closed!r}."]
    return _check_gated(entry, gate["outputs"], where) if named else []


def _check_gated(entry: dict[str, Any], gated: object, where: str) -> list[str]:
    bounds = {signal["name"]: signal["bounds"] for signal in entry["outputs"]}
    if not isinstance(gated, list) or not gated or not all(isinstance(name, str) and name in bounds for name in gated):
        return [f"outputs of the gate of {where} must be some of {', '.join(bounds)}, got {gated!r}."]
    return [
        f"bounds of '{name}' in outputs of {where} must contain 0 behind a gate, got {bounds[name]!r}."
        for name in gated
        if bounds[name] is not None and not bounds[name][0] <= 0 <= bounds[name][1]
    ]
