"""Checkpoints of a Levenberg-Marquardt fit and the folder a fit writes to. Arrays and JSON, no pickle."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rt_runtime.errors import ConfigError
from rt_runtime.files import read_json, reading, write_file
from training.trainers.levenberg import State


def claim(folder: Path, settings: dict[str, Any], *, resume: bool) -> None:
    """Take `folder` for a fit with these settings, or check on `resume` that it was begun with the same ones."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "fit.json"
    if resume and file.exists():
        begun = read_json(file, f"Settings {file} of a fit", "delete the folder or use another one")
        changed = sorted(k for k in settings.keys() | begun.keys() if settings.get(k) != begun.get(k))
        if changed:
            raise ConfigError(
                f"Fit in '{folder}' was begun with other settings and can only be resumed with the same ones, "
                f"got a different {', '.join(changed)}; use another folder or resume=False."
            )
        return
    for kind in ("checkpoint.npz", "restart_*/checkpoint.npz", "restart_*/*.ckpt"):
        for old in folder.glob(kind):
            old.unlink()
    write_file(file, json.dumps(settings, indent=1).encode())


def save_state(path: Path, state: State) -> None:
    """Write one state of the trainer."""
    content = io.BytesIO()
    fields = asdict(state)
    np.savez(content, allow_pickle=False, **{name: np.asarray(value) for name, value in fields.items()})
    write_file(path, content.getvalue())


def load_state(path: Path) -> State:
    """Read a state written by `save_state`."""
    with reading(f"Checkpoint '{path}'", "delete it, or the folder"), np.load(path, allow_pickle=False) as file:
        return State(**{name: file[name] if name == "theta" else file[name].item() for name in file.files})
