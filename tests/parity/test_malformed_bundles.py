"""Every way a bundle can be broken is refused with a sentence; nothing is executed, nothing is written."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import rt_runtime.bundle as bundle_module
import rt_runtime.bundle_files as bundle_files
from export import write
from rt_runtime.bundle import difference, read_bundle
from rt_runtime.bundle_files import description_hash, safe_name, sha256
from rt_runtime.errors import BundleError, ConfigError
from tests.reference.exported_models import network_with_memory, polynomial


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original") / "brakes"
    models = {"front": network_with_memory(), "rear": polynomial(4)}
    write(models, folder, targets=("onnx", "c", "fmu"))
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "moved"))


def rewrite(folder: Path, change: Callable[[dict[str, Any]], Any], *, rehash: bool = True) -> None:
    """Change bundle.json; with `rehash` as somebody would who knows how to."""
    file = folder / "bundle.json"
    description = json.loads(file.read_text())
    change(description)
    if rehash:
        description["sha256"] = description_hash(description)
    file.write_text(json.dumps(description))


def replace_file(folder: Path, name: str, content: bytes) -> None:
    """Change a file and its entry under files."""
    (folder / name).write_bytes(content)
    rewrite(folder, lambda d: d["files"].update({name: {"bytes": len(content), "sha256": sha256(content)}}))


def zipped(folder: Path, target: Path, top: str = "") -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(p for p in folder.rglob("*") if p.is_file()):
            archive.write(file, top + file.relative_to(folder).as_posix())
    return target


@pytest.mark.parametrize("top", ["", "brakes/"])
def test_moved_renamed_and_zipped_bundles_are_the_same(folder: Path, tmp_path: Path, top: str) -> None:
    packed = read_bundle(zipped(folder, tmp_path / "handover.zip", top))
    plain = read_bundle(folder)
    assert packed.description == plain.description and packed.content == plain.content
    assert sorted(p.name for p in tmp_path.iterdir()) == ["handover.zip", "moved"]  # nothing was unpacked
    again = packed.extract(tmp_path / "again")
    assert read_bundle(again).content == plain.content
    with pytest.raises(ConfigError, match="to extract a bundle into must be new or empty"):
        packed.extract(again)


def test_every_file_tampered_truncated_or_missing(original: Path, tmp_path: Path) -> None:
    names = sorted(json.loads((original / "bundle.json").read_text())["files"])
    assert {Path(n).suffix for n in names} == {".onnx", ".npz", ".c", ".h", ".fmu"}
    for i, name in enumerate(names):
        copy = Path(shutil.copytree(original, tmp_path / str(i)))
        content = (copy / name).read_bytes()
        for broken in (content[:-1], content[:-20] + bytes([content[-20] ^ 1]) + content[-19:], content + b"x", b""):
            (copy / name).write_bytes(broken)
            with pytest.raises(BundleError, match=rf"'{name}' .*(was changed or cut off|must have at most)"):
                read_bundle(copy)
        (copy / name).unlink()
        with pytest.raises(BundleError, match=f"File '{name}' of bundle .* is missing; copy the whole bundle"):
            read_bundle(copy)


def test_bundle_json_tampered_or_truncated(folder: Path) -> None:
    text = (folder / "bundle.json").read_text()
    rewrite(folder, lambda d: d["models"][0].update(dt=0.002), rehash=False)
    with pytest.raises(BundleError, match=r"bundle.json was changed after it was written \(its sha256 differs\)"):
        read_bundle(folder)
    for broken in (
        text[:-40],
        "",
        "[]",
        text.replace("1e-09", "NaN"),
        "\ufffe" + text,
        text.replace("1e-09", "Infinity"),
    ):
        (folder / "bundle.json").write_text(broken)
        with pytest.raises(BundleError, match=r"bundle.json of bundle .* must be (valid JSON|an object)"):
            read_bundle(folder)
    (folder / "bundle.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BundleError, match="must be valid JSON"):
        read_bundle(folder)
    (folder / "bundle.json").unlink()
    with pytest.raises(BundleError, match=r"File 'bundle.json' of bundle .* is missing"):
        read_bundle(folder)


def test_formats_of_the_future_and_of_nobody(folder: Path) -> None:
    rewrite(folder, lambda d: d.update(format=2))
    with pytest.raises(BundleError, match="must be 1, got 2; update hybrid-mor"):
        read_bundle(folder)
    for version in ("1", None, 0, True, 1.5):
        rewrite(folder, lambda d, version=version: d.update(format=version))
        with pytest.raises(BundleError, match=r"must be 1, got .*; (export the model again|update hybrid-mor)"):
            read_bundle(folder)


def test_json_bombs(folder: Path) -> None:
    file = folder / "bundle.json"
    for bomb in (
        "[" * 100_000,
        '{"a":' * 2_000 + "1" + "}" * 2_000,
        '"' + '\\"' * 1_500_000,
        '{"format": 1, "format": 1}',
        '{"format": ' + "9" * 10_000 + "}",
    ):
        file.write_text(bomb)
        with pytest.raises(BundleError, match=r"(must be valid JSON as export.write makes it, got: .*|must be 1, got)"):
            read_bundle(folder)
    file.write_text(" " * (bundle_files.MAX_DESCRIPTION + 1))
    with pytest.raises(BundleError, match=r"'bundle.json' of bundle .* must have at most 4194304 bytes"):
        read_bundle(folder)


def test_paths_that_leave_the_bundle(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.onnx"
    secret.write_bytes(b"secret")
    entry = {"bytes": 6, "sha256": sha256(b"secret")}
    for name in (
        "../secret.onnx",
        str(secret),
        "a/../../secret.onnx",
        "C:\\x",
        "a\\b",
        "",
        "a//b",
        "./a",
        "a\n",
        "~/x",
    ):
        assert not safe_name(name)
        shutil.copyfile(folder / "bundle.json", tmp_path / "keep")
        rewrite(folder, lambda d, name=name: (d["files"].update({name: entry}), d["models"][0].update(onnx=name)))
        with pytest.raises(BundleError, match="must be a plain relative path inside the bundle"):
            read_bundle(folder)
        shutil.copyfile(tmp_path / "keep", folder / "bundle.json")
    (folder / "front.onnx").unlink()
    (folder / "front.onnx").symlink_to(secret)
    with pytest.raises(BundleError, match=r"File 'front.onnx' of bundle .* must not be a link out of the bundle"):
        read_bundle(folder)
    (folder / "front.onnx").unlink()
    os.mkfifo(folder / "front.onnx")
    with pytest.raises(BundleError, match=r"File 'front.onnx' of bundle .* must be a regular file"):
        read_bundle(folder)


@pytest.mark.parametrize("name", ["../evil.txt", "/tmp/evil.txt", "a\\..\\evil", "brakes/../../evil", "C:/evil"])
def test_zip_entries_that_leave_the_bundle(folder: Path, tmp_path: Path, name: str) -> None:
    file = zipped(folder, tmp_path / "b.zip")
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(zipfile.ZipInfo(name), "evil")
    with pytest.raises(BundleError, match="must be a plain relative path inside it; do not use this file"):
        read_bundle(file)


def test_zips_with_links_twins_secrets_bombs_and_nothing(folder: Path, tmp_path: Path, monkeypatch: Any) -> None:
    def fresh(change: Callable[[zipfile.ZipFile], None]) -> Path:
        file = zipped(folder, tmp_path / "b.zip")
        with zipfile.ZipFile(file, "a") as archive:
            change(archive)
        return file

    def link(archive: zipfile.ZipFile) -> None:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")

    with pytest.raises(BundleError, match=r"Entry 'link' of zipped bundle .* must not be a link"):
        read_bundle(fresh(link))
    with pytest.warns(UserWarning, match="Duplicate name"):
        twins = fresh(lambda archive: archive.writestr("front.onnx", "other"))
    with pytest.raises(BundleError, match="must name each file once, got a name twice"):
        read_bundle(twins)
    with pytest.raises(BundleError, match=r"must hold one bundle.json, found 2"):
        read_bundle(fresh(lambda archive: archive.writestr("inner/bundle.json", "{}")))
    file = fresh(lambda archive: None)
    raw = bytearray(file.read_bytes())
    at = raw.rfind(b"PK\x01\x02")
    raw[at + 8] |= 1
    file.write_bytes(raw)
    with pytest.raises(BundleError, match="must be stored or deflated and not encrypted"):
        read_bundle(file)
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    with pytest.raises(BundleError, match=r"must hold one bundle.json, found 0"):
        read_bundle(tmp_path / "empty.zip")
    with monkeypatch.context() as patch:
        patch.setattr(bundle_files, "MAX_TOTAL", 1000)
        with pytest.raises(BundleError, match="must unpack to at most 1000 bytes"):
            read_bundle(fresh(lambda archive: None))
        patch.setattr(bundle_files, "MAX_FILES", 2)
        with pytest.raises(BundleError, match="must have at most 2 entries"):
            read_bundle(fresh(lambda archive: None))
    whole = fresh(lambda archive: None).read_bytes()
    for cut in (whole[:100], whole[: len(whole) // 2], whole[:-10], b"not a zip"):
        (tmp_path / "cut.zip").write_bytes(cut)
        with pytest.raises(BundleError, match="must be a folder or a zip file of one, got"):
            read_bundle(tmp_path / "cut.zip")
    broken = bytearray(whole)
    broken[200] ^= 255
    (tmp_path / "cut.zip").write_bytes(broken)
    with pytest.raises(BundleError):
        read_bundle(tmp_path / "cut.zip")
    with pytest.raises(BundleError, match=r"Bundle '/no/such/bundle' does not exist; write it with export.write"):
        read_bundle("/no/such/bundle")


def test_a_zip_that_lies_about_its_sizes(folder: Path, tmp_path: Path) -> None:
    rewrite(folder, lambda d: d["files"]["front.onnx"].update(bytes=10**18))
    with pytest.raises(BundleError, match=r"File 'front.onnx' was changed or cut off"):
        read_bundle(folder)
    bomb = zipped(folder, tmp_path / "bomb.zip")
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", b"\0" * (bundle_files.MAX_TOTAL // 4))
    assert bomb.stat().st_size < 2**20
    with pytest.raises(BundleError):  # not listed, so never unpacked; what is listed still lies
        read_bundle(bomb)


BAD_DESCRIPTIONS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "must have the keys files, format, models, provenance, sha256": lambda d: d.update(extra=1),
    "models in bundle.json must be a list with at least one": lambda d: d.update(models=[]),
    r"models\[0\] in bundle.json must have the keys .*, got 3": lambda d: d.update(models=[3]),
    "files in bundle.json must be an object": lambda d: d.update(files={}),
    "provenance in bundle.json must be an object": lambda d: d.update(provenance=[]),
    "must have its bytes and its sha256": lambda d: d["files"].update({"front.onnx": {"bytes": -1, "sha256": "0"}}),
    r"name of models\[0\] must be a C identifier, got 'a b'": lambda d: d["models"][0].update(name="a b"),
    r"kind of models\[0\] must be one of ffnn, pce, got 'svm'; update hybrid-mor": lambda d: d["models"][0].update(
        kind="svm"
    ),
    r"precision of models\[0\] must be one of float64, float32": lambda d: d["models"][0].update(precision="float8"),
    r"tolerance of models\[0\] must be a number of at least 0, got -1": lambda d: d["models"][0].update(tolerance=-1),
    r"File 'gone' of models\[0\] must stand under files": lambda d: d["models"][0].update(golden="gone"),
    r"c of models\[0\] must be a list of file names": lambda d: d["models"][0].update(c="front.c"),
    r"inputs of models\[0\] must be a list with at least one signal": lambda d: d["models"][0].update(inputs=[]),
    r"Each of the inputs of models\[0\] must have name, unit and domain": lambda d: d["models"][0]["inputs"][0].pop(
        "unit"
    ),
    "Name of one of the inputs .* must be an identifier, got 'x y'": lambda d: d["models"][0]["inputs"][0].update(
        name="x y"
    ),
    "Unit of 'F_br' in inputs .* must be a text, got 3": lambda d: d["models"][0]["inputs"][0].update(unit=3),
    r"domain of 'F_br' in inputs .* must be \[lower, upper\]": lambda d: d["models"][0]["inputs"][0].update(
        domain=[2, 1]
    ),
    r"bounds of 'tau_rw' in outputs .* must be \[lower, upper\]": lambda d: d["models"][0]["outputs"][0].update(
        bounds=[1]
    ),
    "Names of the inputs .* must differ": lambda d: d["models"][0]["inputs"][1].update(name="F_br"),
    r"dt of models\[0\] must be positive for a model with memory, got 0": lambda d: d["models"][0].update(dt=0),
    r"dt of models\[1\] must be null for a model without memory": lambda d: d["models"][1].update(dt=0.1),
    "memory of .* must have input_lags, output_lags, state and initial": lambda d: d["models"][0]["memory"].pop(
        "initial"
    ),
    "Lags of .* must be integers from 0 to 1000": lambda d: d["models"][0]["memory"].update(input_lags=10**9),
    "state of .* must have 6 values for its lags, got 4": lambda d: d["models"][0]["memory"].update(input_lags=2),
    "initial of .* must have 4 numbers": lambda d: d["models"][0]["memory"].update(initial=[0.0]),
    r"validation of models\[0\] must be an object": lambda d: d["models"][0].update(validation=1),
    "multiply_adds of .* must be an integer and skipped a list": lambda d: d["models"][0].update(multiply_adds=1.5),
    "Names of the models in bundle.json must differ": lambda d: d["models"][1].update(name="front"),
}


@pytest.mark.parametrize("problem", BAD_DESCRIPTIONS)
def test_descriptions_that_contradict_themselves(folder: Path, problem: str) -> None:
    rewrite(folder, BAD_DESCRIPTIONS[problem])
    with pytest.raises(BundleError, match=problem):
        read_bundle(folder)


def test_all_problems_are_listed_at_once(folder: Path) -> None:
    rewrite(folder, lambda d: (d["models"][0].update(kind="svm", tolerance=-1), d["models"][1].update(c=0)))
    with pytest.raises(BundleError, match="has 3 problems:") as error:
        read_bundle(folder)
    assert str(error.value).count("\n") == 3


def test_a_hash_that_is_none(folder: Path) -> None:
    rewrite(folder, lambda d: d.update(sha256="x"), rehash=False)
    with pytest.raises(BundleError, match=r"sha256 of bundle.json must be 64 hexadecimal digits, got 'x'"):
        read_bundle(folder)


def changed_onnx(folder: Path, change: Callable[[Any], Any]) -> None:
    proto = onnx.load_model_from_string((folder / "front.onnx").read_bytes())
    change(proto)
    replace_file(folder, "front.onnx", proto.SerializeToString())


def external(proto: Any) -> None:
    tensor = proto.graph.initializer[0]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../etc/passwd")


BAD_ONNX: dict[str, Callable[[Any], Any]] = {
    "must hold its numbers itself, got a reference to another file": external,
    "must have neither functions nor sparse numbers": lambda p: p.functions.add(name="f", domain="d"),
    "must use operator set 21 of the standard operators alone": lambda p: p.opset_import.add(domain="x", version=1),
    "inputs of ONNX file 'front.onnx' must be u": lambda p: p.graph.input.append(
        helper.make_tensor_value_info("more", 11, ["N", 1])
    ),
    "outputs of ONNX file 'front.onnx' must be y": lambda p: p.graph.output.pop(),
    "Names and units of the inputs in ONNX file 'front.onnx' must be those of bundle.json": lambda p: (
        p.metadata_props.pop(3)
    ),
    "ONNX file 'front.onnx' cannot be read: .*": lambda p: p.graph.node[1].input.append("nowhere"),
}


@pytest.mark.parametrize("problem", BAD_ONNX)
def test_onnx_files_that_contradict_the_description(folder: Path, problem: str) -> None:
    changed_onnx(folder, BAD_ONNX[problem])
    with pytest.raises(BundleError, match=problem):
        read_bundle(folder)


def test_onnx_files_that_are_none(folder: Path) -> None:
    for content in (b"", b"not an onnx file", (folder / "front.onnx").read_bytes()[:-30]):
        replace_file(folder, "front.onnx", content)
        with pytest.raises(BundleError, match=r"ONNX file 'front.onnx' cannot be read: .*; export it again"):
            read_bundle(folder)


def npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def test_golden_vectors_of_another_shape(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = dict(np.load(folder / "front.golden.npz"))
    huge = {**good, "X": np.array(["x" * 10])}
    for problem, content in {
        "it must hold the arrays X, Y, u, y, got X": npz(X=good["X"]),
        "must have finite float64 rows of 6 values in 'X', got float64 of shape": npz(
            **{**good, "X": good["X"][:, 1:]}
        ),
        "must have finite float64 rows of 1 values in 'Y', got float32": npz(**{**good, "Y": good["Y"].astype("f4")}),
        "must have finite float64 rows of 1 values in 'y'": npz(**{**good, "y": np.full((2000, 1), np.nan)}),
        "must have as many rows in 'u' as in 'y'": npz(**{**good, "u": good["u"][:-1]}),
        "must have finite float64 rows of 6 values in 'X', got <U10": npz(**huge),
        "cannot be read: .*allow_pickle": npz(**{**good, "X": np.array([object()])}),
        r"cannot be read: File is not a zip file": b"no zip",
    }.items():
        replace_file(folder, "front.golden.npz", content)
        with pytest.raises(BundleError, match=problem):
            read_bundle(folder)
    monkeypatch.setattr(bundle_module, "MAX_FILE", 20_000)
    replace_file(folder, "front.golden.npz", npz(**good))
    with pytest.raises(BundleError, match=r"(it unpacks to more than 20000 bytes|must have at most 20000 bytes)"):
        read_bundle(folder)


def test_differences_are_relative_to_the_largest_value_of_a_column() -> None:
    expected = np.array([[1.0, 1e6], [-4.0, 0.0]])
    assert difference(expected + [[0.0, 1.0], [0.0, 0.0]], expected) == pytest.approx(1e-6)
    assert difference(expected + [[0.0, 0.0], [0.2, 0.0]], expected) == pytest.approx(0.05)
    assert difference(np.full_like(expected, np.nan), expected) == float("inf")
    assert difference(expected[:1], expected) == float("inf")
    assert difference(np.zeros((0, 2)), np.zeros((0, 2))) == 0.0
    assert difference(np.zeros((3, 1)), np.zeros((3, 1))) == 0.0
