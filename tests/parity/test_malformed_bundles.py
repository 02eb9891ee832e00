"""Every way a bundle can be broken is refused with a sentence; nothing is executed, nothing is written."""

from __future__ import annotations

import json
import os
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rt_runtime.bundle.files as bundle_files
from export import write
from rt_runtime.bundle.files import safe_name, sha256
from rt_runtime.bundle.read import read_bundle
from rt_runtime.errors import BundleError, ConfigError
from tests.fixtures.broken_bundles import rewrite, zipped
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
    rewrite(folder, lambda d: d.update(format=3))
    with pytest.raises(BundleError, match="must be 2 or older, got 3; update hybrid-mor"):
        read_bundle(folder)
    for version in ("1", None, 0, True, 1.5):
        rewrite(folder, lambda d, version=version: d.update(format=version))
        with pytest.raises(
            BundleError, match=r"must be 2 or older, got .*; (export the model again|update hybrid-mor)"
        ):
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
    with pytest.raises(BundleError, match=r"File 'front.onnx' in bundle.json must have at most \d+ bytes, got 10+\."):
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
    r"kind of models\[0\] must be one of ffnn, pce, kriging, gru, got 'svm'; update hybrid-mor": lambda d: d["models"][
        0
    ].update(kind="svm"),
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
    "memory of .* must have initial, input_lags, output_lags, state": lambda d: d["models"][0]["memory"].pop("initial"),
    "Lags of .* must be integers from 0 to 1000": lambda d: d["models"][0]["memory"].update(input_lags=10**9),
    "Each state of .* must say its meaning": lambda d: d["models"][0]["memory"]["state"][0].pop("meaning"),
    "operators of .* must be a list of objects with a kind": lambda d: d["models"][0]["memory"].update(operators=[1]),
    "outside of .* must be one of clip, tangent, trip, got 'fly'": lambda d: d["models"][0]["memory"].update(
        outside="fly"
    ),
    "initial of .* must have 4 numbers": lambda d: d["models"][0]["memory"].update(initial=[0.0]),
    r"validation of models\[0\] must be an object": lambda d: d["models"][0].update(validation=1),
    "multiply_adds of .* must be an integer of at least 0, got 1.5": lambda d: d["models"][0].update(multiply_adds=1.5),
    r"skipped of models\[0\] must be a list of sentences": lambda d: d["models"][0].update(skipped=[3]),
    r"precision of models\[0\] must be one of float64, float32, got \['x'\]": lambda d: d["models"][0].update(
        precision=["x"]
    ),
    r"tolerance of models\[0\] must be at most 1e-09 in float64, got 0.5": lambda d: d["models"][0].update(
        tolerance=0.5
    ),
    "Each model in bundle.json must have its own golden file": lambda d: d["models"][0].update(
        golden="rear.golden.npz"
    ),
    "File name 'bundle.json' in bundle.json must be a plain relative path": lambda d: d["files"].update(
        {"bundle.json": d["files"]["front.onnx"]}
    ),
    "files in bundle.json must have at most 134217728 bytes together": lambda d: d["files"].update(
        {f"x{i}": {"bytes": 2**25, "sha256": "0" * 64} for i in range(5)}
    ),
    "at least one and at most 64 models": lambda d: d.update(models=d["models"] * 40),
    "Names of the models in bundle.json must differ": lambda d: d["models"][1].update(name="front"),
}


@pytest.mark.parametrize("problem", BAD_DESCRIPTIONS)
def test_descriptions_that_contradict_themselves(folder: Path, problem: str) -> None:
    rewrite(folder, BAD_DESCRIPTIONS[problem])
    with pytest.raises(BundleError, match=problem):
        read_bundle(folder)


def test_a_refusal_is_never_longer_than_a_reader(folder: Path) -> None:
    rewrite(folder, lambda d: d.update(format=[-1] * 5000))
    with pytest.raises(
        BundleError, match=r"must be 2 or older, got \[-1, .* \.\.\. .*; export the model again\."
    ) as error:
        read_bundle(folder)
    assert len(str(error.value)) < 700


def test_all_problems_are_listed_at_once(folder: Path) -> None:
    rewrite(folder, lambda d: (d["models"][0].update(kind="svm", tolerance=-1), d["models"][1].update(c=0)))
    with pytest.raises(BundleError, match="has 3 problems:") as error:
        read_bundle(folder)
    assert str(error.value).count("\n") == 3


def test_a_hash_that_is_none(folder: Path) -> None:
    rewrite(folder, lambda d: d.update(sha256="x"), rehash=False)
    with pytest.raises(BundleError, match=r"sha256 of bundle.json must be 64 hexadecimal digits, got 'x'"):
        read_bundle(folder)
