"""Read and write netCDF files in the classic 64-bit-offset format: small, fast, read by MATLAB's ncread and xarray."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rt_runtime.errors import ConfigError
from rt_runtime.files import replacing

Array = npt.NDArray[np.generic]
Variable = tuple[tuple[str, ...], Array, Mapping[str, str]]


def write_netcdf(path: str | Path, variables: Mapping[str, Variable], attributes: Mapping[str, str]) -> None:
    """Write variables {name: (dimensions, values, attributes)} and attributes of the file in one atomic step.

    Values are stored as 64-bit floats, or as 32-bit whole numbers when they are whole numbers.
    """
    from scipy.io import netcdf_file

    with replacing(path) as temporary, netcdf_file(temporary, "w", version=2) as file:
        for name, text in attributes.items():
            _set(file, name, text)
        for name, (dimensions, values, texts) in variables.items():
            for dimension, size in zip(dimensions, values.shape, strict=True):
                if dimension not in file.dimensions:
                    file.createDimension(dimension, size)
            variable = file.createVariable(name, "i" if values.dtype.kind in "iu" else "d", dimensions)
            variable[...] = values
            for key, text in texts.items():
                _set(variable, key, text)


def read_netcdf(path: str | Path) -> tuple[dict[str, Variable], dict[str, str]]:
    """Read what `write_netcdf` wrote: variables {name: (dimensions, values, attributes)} and attributes of the file."""
    from scipy.io import netcdf_file

    try:
        with netcdf_file(path, "r", mmap=False) as file:
            variables: dict[str, Variable] = {}
            for name, variable in file.variables.items():
                kind = np.int64 if variable.data.dtype.kind in "iu" else np.float64
                texts = {key: _text(value) for key, value in variable._attributes.items()}
                variables[name] = (tuple(variable.dimensions), np.array(variable.data, dtype=kind), texts)
            return variables, {key: _text(value) for key, value in file._attributes.items()}
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ConfigError(f"{path} must be a netCDF file in the classic format, it cannot be read: {error}.") from error


def _set(owner: object, key: str, text: str) -> None:
    # a blank stands for the empty text, which the format cannot hold
    setattr(owner, key, text.encode() or b" ")


def _text(value: object) -> str:
    text = value.decode() if isinstance(value, bytes) else str(value)
    return "" if text == " " else text
