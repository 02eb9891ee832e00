"""What bundle.json and an ONNX file of a bundle must say, each check with its sentence. Outside the loop."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from rt_runtime.bundle_files import safe_name

OPSETS = (21,)
KINDS = ("ffnn", "pce")
PRECISIONS = {"float64": 11, "float32": 1}  # name -> ONNX element type
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
    for name, entry in files.items():
        if not safe_name(name):
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
    models = description["models"]
    if not isinstance(models, list) or not models:
        return [*problems, "models in bundle.json must be a list with at least one model."]
    for at, entry in enumerate(models):
        problems += _check_model(entry, f"models[{at}]", set(files))
    if problems:
        return problems
    names = [entry["name"] for entry in models]
    if len(set(names)) != len(names):
        problems.append(f"Names of the models in bundle.json must differ, got {', '.join(names)}.")
    return problems


_MODEL_KEYS = {
    "name", "kind", "precision", "precision_error", "tolerance", "onnx", "golden", "c", "fmu", "inputs", "outputs",
    "dt", "memory", "multiply_adds", "validation", "skipped",
}  # fmt: skip


def _check_model(entry: object, where: str, files: set[str]) -> list[str]:
    if not isinstance(entry, dict) or set(entry) - {"gate"} != _MODEL_KEYS:
        got = ", ".join(sorted(entry)) if isinstance(entry, dict) else repr(entry)
        return [f"{where} in bundle.json must have the keys {', '.join(sorted(_MODEL_KEYS))}, got {got}."]
    problems = []
    if not isinstance(entry["name"], str) or not _NAME.match(entry["name"]):
        problems.append(f"name of {where} must be a C identifier, got {entry['name']!r}.")
    if entry["kind"] not in KINDS:
        problems.append(f"kind of {where} must be one of {', '.join(KINDS)}, got {entry['kind']!r}; update hybrid-mor.")
    if entry["precision"] not in PRECISIONS:
        problems.append(f"precision of {where} must be one of {', '.join(PRECISIONS)}, got {entry['precision']!r}.")
    for key in ("tolerance", "precision_error"):
        if not _is_number(entry[key]) or entry[key] < 0:
            problems.append(f"{key} of {where} must be a number of at least 0, got {entry[key]!r}.")
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
    if type(entry["multiply_adds"]) is not int or not isinstance(entry["skipped"], list):
        problems.append(f"multiply_adds of {where} must be an integer and skipped a list.")
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


def _check_memory(entry: dict[str, Any], where: str) -> list[str]:
    memory, dt = entry["memory"], entry["dt"]
    if memory is None:
        if dt is not None:
            return [f"dt of {where} must be null for a model without memory, got {dt!r}."]
        return []
    if not _is_number(dt) or dt <= 0:
        return [f"dt of {where} must be positive for a model with memory, got {dt!r}."]
    if not isinstance(memory, dict) or set(memory) != {"input_lags", "output_lags", "state", "initial"}:
        return [f"memory of {where} must have input_lags, output_lags, state and initial."]
    problems = _check_signals(memory["state"], f"state of {where}", "domain", True)
    lags = [memory["input_lags"], memory["output_lags"]]
    if not all(type(n) is int and 0 <= n <= 1000 for n in lags):
        return [*problems, f"Lags of {where} must be integers from 0 to 1000, got {lags}."]
    if not problems:
        size = len(entry["inputs"]) * lags[0] + len(entry["outputs"]) * lags[1]
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
    keys = {"input", "span"} | (set() if memory is None else {"outputs"})
    if not isinstance(gate, dict) or set(gate) - {"closed"} != keys or gate["input"] not in names:
        also = "" if memory is None else ", the outputs that vanish"
        return [f"gate of {where} must have an input out of {', '.join(names)}{also} and a span, got {gate!r}."]
    if not _is_number(gate["span"]) or gate["span"] <= 0:
        return [f"span of the gate of {where} must be positive, got {gate['span']!r}."]
    closed = gate.get("closed", 0)
    if not _is_number(closed) or not 0 <= closed < gate["span"]:
        return [f"closed of the gate of {where} must lie in [0, {gate['span']:g}), below its span, got {closed!r}."]
    return [] if memory is None else _check_gated(entry, gate["outputs"], where)


def _check_gated(entry: dict[str, Any], gated: object, where: str) -> list[str]:
    bounds = {signal["name"]: signal["bounds"] for signal in entry["outputs"]}
    if not isinstance(gated, list) or not gated or not all(isinstance(name, str) and name in bounds for name in gated):
        return [f"outputs of the gate of {where} must be some of {', '.join(bounds)}, got {gated!r}."]
    return [
        f"bounds of '{name}' in outputs of {where} must contain 0 behind a gate, got {bounds[name]!r}."
        for name in gated
        if bounds[name] is not None and not bounds[name][0] <= 0 <= bounds[name][1]
    ]


def check_onnx(entry: dict[str, Any], content: bytes) -> list[str]:
    """Return every way in which an ONNX file contradicts its entry in bundle.json; the file is not executed."""
    import onnx

    what = f"ONNX file '{entry['onnx']}'"
    try:
        proto = onnx.load_model_from_string(content)
        graph = proto.graph
        if any(t.data_location == onnx.TensorProto.EXTERNAL or t.external_data for t in graph.initializer):
            return [f"{what} must hold its numbers itself, got a reference to another file; export it again."]
        if len(proto.functions) or len(graph.sparse_initializer):
            return [f"{what} must have neither functions nor sparse numbers; export it again."]
        onnx.checker.check_model(proto, full_check=True)
    except Exception as error:  # protobuf and onnx raise many kinds, none of them derived from one another
        return [f"{what} cannot be read: {' '.join(str(error).split())[:300]}; export it again."]
    problems = []
    opsets = [(o.domain, o.version) for o in proto.opset_import]
    if len(opsets) != 1 or opsets[0][0] != "" or opsets[0][1] not in OPSETS:
        problems.append(f"{what} must use operator set {OPSETS[0]} of the standard operators alone, got {opsets}.")
    n_in, n_out = len(entry["inputs"]), len(entry["outputs"])
    n_state = 0 if entry["memory"] is None else len(entry["memory"]["state"])
    expected_in = {"u": n_in} | ({"state": n_state} if n_state else {})
    expected_out = {"y": n_out} | ({"state_next": n_state} if n_state else {})
    element = PRECISIONS[entry["precision"]]
    for side, values, expected in (("inputs", graph.input, expected_in), ("outputs", graph.output, expected_out)):
        got = {v.name: _shape(v) for v in values}
        need = {name: (element, None, width) for name, width in expected.items()}
        if got != need:
            shapes = ", ".join(f"{name} (N, {width})" for name, width in expected.items())
            problems.append(f"{side} of {what} must be {shapes} in {entry['precision']}; export it again.")
    said = {p.key: p.value for p in proto.metadata_props}
    for side in ("inputs", "outputs"):
        need_names = [[s["name"], s["unit"]] for s in entry[side]]
        try:
            got_names = [[s["name"], s["unit"]] for s in json.loads(said[f"hmor.{side}"])]
        except (KeyError, TypeError, ValueError):
            got_names = []
        if got_names != need_names:
            problems.append(
                f"Names and units of the {side} in {what} must be those of bundle.json, {need_names}, got {got_names}."
            )
    gate = json.dumps(entry["gate"]) if "gate" in entry else None
    if said.get("hmor.gate") != gate:
        problems.append(f"Gate in {what} must be that of bundle.json, {gate}, got {said.get('hmor.gate')}.")
    return problems


def _shape(value: Any) -> tuple[int, int | None, int] | None:
    tensor = value.type.tensor_type
    dims = tensor.shape.dim
    if len(dims) != 2:
        return None
    return tensor.elem_type, (dims[0].dim_value or None), dims[1].dim_value
