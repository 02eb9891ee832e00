"""[export] controllers of a study: each as C and FMU beside the bundle."""

from __future__ import annotations

from hmor.study.file import Study
from hmor.study.loading import import_object
from rt_runtime.errors import ConfigError


def export_controller(study: Study, name: str, path: str) -> dict[str, float]:
    """Write one controller; return how closely each engine repeats the core."""
    from export import write_controller

    made = import_object(path, study.place)()
    controller, limits = made if isinstance(made, tuple) else (made, ())
    targets = [target for target in study.export.targets if target != "onnx"] or ["c"]
    place = study.folder / "controllers" / name
    written = write_controller(
        controller, place, name=name, limits=limits, targets=targets, overwrite=True, seed=study.study.seed
    )
    if not written.ok:
        raise ConfigError(f"Controller '{name}' must repeat the core to 1e-12, got {written.differences}.")
    return written.differences
