"""The exported brakes as parts of a hybrid model."""

from __future__ import annotations

from pathlib import Path

from hmor.motorcycle.settings import Settings
from mor.models.motorcycle import brake
from mor.substructures import BundleSubstructure
from rt_runtime import LoadedBundle, load_bundle
from rt_runtime.errors import BundleError


def study_bundle(settings: Settings, folder: Path) -> LoadedBundle:
    """Load the bundle of this study and no other; its models repeat their golden vectors first."""
    path = folder / "bundle"
    if not (path / "bundle.json").is_file():
        name = settings.study.name
        raise BundleError(f"Bundle of study '{name}' must be in {path}, found none; run: hmor export {name}")
    loaded = load_bundle(path)
    study = loaded.bundle.description["provenance"].get("study")
    if study != settings.study.name:
        raise BundleError(
            f"Bundle in {path} must come from study '{settings.study.name}', got one from {study!r}; run hmor export "
            "again or choose another folder."
        )
    return loaded


def reduced_brake(loaded: LoadedBundle, side: str, kind: str) -> BundleSubstructure:
    """Return the exported model `side_kind` with the ports of the full-order brake; the engine runs its ONNX file."""
    return BundleSubstructure(f"{side}_{kind}", loaded, f"{side}_{kind}", outputs=len(brake(side).outputs))
