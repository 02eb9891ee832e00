"""Mutations of a bundle as an attacker would make them: fields, types, tensors, files and archives, hashes corrected.

`mutated(rng, files)` changes one to three things in {name: content}; `packed` writes the result as a folder or a zip
file, which may be damaged once more. Everything follows from the random generator, so a case is its seed.
"""

from __future__ import annotations

import io
import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rt_runtime.bundle.files import description_hash, sha256
from tests.fuzz.json_mutations import Files, Rng, json_value, of_kind, raw_text, spoiled
from tests.fuzz.onnx_mutations import field, metadata, node, onnx_bytes, onnx_change, tensor


def mutated(rng: Rng, files: Files) -> Files:
    """Return a changed copy of a bundle's files; hashes and sizes are mostly put right afterwards."""
    files = dict(files)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice(CHANGES)(rng, files)
    if rng.random() < 0.95:
        correct_hashes(files)
    if rng.random() < 0.1:
        raw_text(rng, files)
    return files


def correct_hashes(files: Files) -> None:
    """Make bundle.json name the sizes and hashes that the files have now, as far as it is still readable."""
    try:
        description = json.loads(files["bundle.json"])
        for name in list(description["files"]):
            if name in files and name != "bundle.json":
                description["files"][name] = {"bytes": len(files[name]), "sha256": sha256(files[name])}
        description["sha256"] = description_hash(description)
        files["bundle.json"] = json.dumps(description).encode()
    except (KeyError, ValueError, TypeError, AttributeError):
        pass


# Golden vectors -------------------------------------------------------------------------------------------------------


def npz(arrays: dict[str, Any]) -> bytes:
    """Pack arrays as .npz."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def golden_arrays(content: bytes) -> dict[str, np.ndarray]:
    """Read golden vectors; none when an earlier change has made something else of them."""
    try:
        arrays = dict(np.load(io.BytesIO(content)))
    except Exception:
        return {}
    return arrays if all(v.dtype == np.float64 and v.ndim == 2 and v.size for v in arrays.values()) else {}


def golden(rng: Rng, files: Files) -> None:
    """Change arrays, their headers or the archive around them."""
    name = of_kind(rng, files, ".npz")
    if name is None:
        return
    arrays = golden_arrays(files[name])
    if not arrays:
        return
    key = rng.choice(sorted(arrays))
    a = arrays[key]
    way = rng.randrange(12)
    if way == 0:
        arrays[key] = a[: rng.choice((0, 1, 10, 199))]
    elif way == 1:
        arrays = {k: v[: rng.choice((1, 199))] for k, v in arrays.items()}
    elif way == 2:
        arrays[key] = a.astype(rng.choice((np.float32, np.int64, np.complex128, "U8", object)))
    elif way == 3:
        a = np.array(a)
        a.flat[rng.randrange(a.size)] = rng.choice((np.nan, np.inf, 1e300, 0.0))
        arrays[key] = a
    elif way == 4:
        arrays[key] = np.asfortranarray(a) if rng.random() < 0.3 else a.T
    elif way == 5:
        del arrays[key]
    elif way == 6:
        arrays[rng.choice(("Z", "\x1b[31m", "../x"))] = a
    elif way == 7:
        arrays[key] = np.tile(a, (rng.choice((2, 300)), 1)) * 0.0
    elif way == 8:
        files[name] = spoiled(rng, files[name])
        return
    if way < 9:
        files[name] = npz(arrays)
        return
    shape = rng.choice(
        ["(200, 6)", "(9999999999, 1)", "(-1, 2)", "(2, 2, 2)", "()", "(200,)", "'x'", "(200, " + "9" * 300 + ")"]
    )
    kind = rng.choice(["<f8", ">f8", "|O", "<U9999999", "f8,i4", "\x1b[0m", "<f4"])
    header = rng.choice(
        [
            f"{{'descr': '{kind}', 'fortran_order': {rng.choice((True, False))}, 'shape': {shape}, }}",
            "{" * 500,
            "1+1",
            "",
        ]
    )
    text = header.encode() + b"\n"
    member = (
        b"\x93NUMPY"
        + bytes([rng.choice((1, 2, 3, 9)), 0])
        + len(text).to_bytes(2, "little")
        + text
        + b"\0" * rng.choice((0, 16, 9600))
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(
        stream, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    ) as archive:
        for k in arrays:
            inner = io.BytesIO()
            np.save(inner, arrays[k])
            archive.writestr(f"{k}.npy", member if k == key else inner.getvalue())
        if way == 11:
            archive.writestr("zeros.npy", b"\0" * rng.choice((10**6, 3 * 10**7)))
    files[name] = stream.getvalue()


# Files and archives ---------------------------------------------------------------------------------------------------


def file_set(rng: Rng, files: Files) -> None:
    """Lose, swap, cut or replace whole files."""
    one, other = rng.choice(sorted(files)), rng.choice(sorted(files))
    way = rng.randrange(6)
    if way == 0:
        del files[one]
    elif way == 1:
        files[one], files[other] = files[other], files[one]
    elif way == 2:
        files[one] = files[one][: rng.randrange(len(files[one]) + 1)]
    elif way == 3:
        files[one] = files[other]
    elif way == 4:
        files[one] = rng.randbytes(rng.choice((0, 1, 1000)))
    else:
        files[rng.choice(("extra", "bundle.sig", "c/x.c"))] = rng.randbytes(100)


CHANGES: list[Callable[[Rng, Files], None]] = [
    json_value, json_value, json_value, raw_text, onnx_change(field), onnx_change(field), onnx_change(tensor),
    onnx_change(tensor), onnx_change(node), onnx_change(node), onnx_change(metadata), onnx_bytes, golden, golden, file_set,
]  # fmt: skip


def packed(rng: Rng, files: Files, place: Path) -> Path:
    """Write the files below `place` as a folder or as a zip file, the latter sometimes hostile; return its path."""
    if rng.random() < 0.3:
        folder = place / "bundle"
        for name, content in files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        return folder
    target = place / "bundle.zip"
    top = rng.choice(("", "", "brakes/", "brakes/", "../", "/", "a/b/", "\x1b[31m/", "x\\"))
    top = top if rng.random() < 0.1 else top if top in ("", "brakes/") else ""
    with zipfile.ZipFile(target, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(top + name), content)
        if rng.random() < 0.1:
            info = zipfile.ZipInfo(
                rng.choice(("../evil", "/tmp/evil", "\x1b[2J", "C:\\x", "a" * 300, "link", "bundle.json", "d/"))
            )
            if info.filename == "link":
                info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, b"x")
    if rng.random() < 0.08:
        target.write_bytes(spoiled(rng, target.read_bytes()))
    return target
