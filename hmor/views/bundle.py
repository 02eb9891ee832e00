"""A bundle as plain values and as text, for `hmor info` and `hmor export`."""

from __future__ import annotations

from typing import Any

from mor.sampling.space import text_table
from rt_runtime.bundle.files import SIGNATURE
from rt_runtime.bundle.read import Bundle, BundleModel, BundleSignal


def bundle_content(bundle: Bundle) -> dict[str, Any]:
    """Return what a checked bundle says about itself, ready for JSON."""
    return {"kind": "bundle", "path": str(bundle.path), "signer": bundle.signer, **bundle.description}


def bundle_text(bundle: Bundle) -> str:
    """Return models, signals, results, provenance and files as text."""
    size = sum(len(content) for content in bundle.content.values())
    parts = [
        f"bundle    {bundle.path}\nformat    {bundle.description['format']}\nchecked   {len(bundle.content)} files, "
        f"{size / 1024:.0f} KiB, all hashes right\nsigned    {_signer(bundle)}"
    ]
    parts += [_model(model) for model in bundle.models.values()]
    if bundle.provenance:
        parts.append("provenance\n" + "\n".join(f"  {key}: {_short(v)}" for key, v in bundle.provenance.items()))
    return "\n\n".join(parts)


def _signer(bundle: Bundle) -> str:
    if bundle.signer is not None:
        return f"by {bundle.signer}"
    if SIGNATURE in bundle.own:
        return "not checked: the package cryptography is not installed (extra sign)"
    return "no"


def _model(model: BundleModel) -> str:
    said = model.description
    memory = "none"
    if model.memory is not None:
        memory = f"{model.memory.input_lags} input and {model.memory.output_lags} output lags, dt {model.dt:g} s"
    golden = f"{len(model.golden.X)} points" + ("" if model.golden.u is None else f", {len(model.golden.u)} steps")
    precision = model.precision
    if precision == "float32":
        precision += f", error {said['precision_error']:.2g}"
    lines = [
        f"model     {model.name} ({model.kind})",
        f"precision {precision}",
        f"memory    {memory}",
        *([_gate(said["gate"])] if "gate" in said else []),
        f"cost      {said['multiply_adds']} multiply-adds",
        f"golden    {golden}, tolerance {model.tolerance:g}",
        f"files     {', '.join([said['onnx'], *said['c'], *said['fmu']])}",
        *(f"skipped   {sentence}" for sentence in said["skipped"]),
        *(f"result    {key}: {_short(value)}" for key, value in model.validation.items()),
    ]
    rows = [_row("input", s) for s in model.inputs] + [_row("output", s) for s in model.outputs]
    return "\n".join(lines) + "\n" + text_table(("", "signal", "unit", "lower", "upper"), rows)


def _gate(gate: dict[str, Any]) -> str:
    who = f"no {', '.join(gate['outputs'])}" if "outputs" in gate else "no output"
    when = f"up to {gate['closed']:g} of" if "closed" in gate else "without"
    return f"gate      {who} {when} {gate['input']}, all of it from {gate['span']:g} on"


def _row(side: str, signal: BundleSignal) -> tuple[str, ...]:
    return (side, signal.name, signal.unit or "-", f"{signal.lower:.6g}", f"{signal.upper:.6g}")


def _short(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 100 else text[:97] + "..."
