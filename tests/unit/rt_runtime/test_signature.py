"""Signatures of bundles: made, checked, required, and refused when they or the bundle were changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from export import write
from rt_runtime import load_bundle
from rt_runtime.bundle import signature as module
from rt_runtime.bundle.files import description_hash
from rt_runtime.bundle.read import read_bundle
from rt_runtime.bundle.signature import new_key, sign_bundle
from rt_runtime.errors import BundleError, ConfigError, MissingExtra
from tests.reference.exported_models import network

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("signed")
    write(network(), place / "b")
    new_key(place / "lab.key")
    new_key(place / "other.key")
    sign_bundle(place / "b", place / "lab.key")
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "place"))


def test_a_signed_bundle_names_its_signer(place: Path) -> None:
    bundle = read_bundle(place / "b")
    assert bundle.signer is not None and len(bundle.signer) == 64
    assert load_bundle(place / "b", signer=place / "lab.pub").bundle.signer == bundle.signer
    assert load_bundle(place / "b", signer=[place / "other.pub", place / "lab.pub"]).bundle.signer == bundle.signer
    assert os.stat(place / "lab.key").st_mode & 0o077 == 0
    again = bundle.extract(place / "again")
    assert read_bundle(again, signer=place / "lab.pub").signer == bundle.signer


def test_a_zipped_bundle_keeps_its_signature(place: Path) -> None:
    with zipfile.ZipFile(place / "b.zip", "w") as archive:
        for file in (place / "b").iterdir():
            archive.write(file, f"b/{file.name}")
    assert read_bundle(place / "b.zip", signer=place / "lab.pub").signer is not None
    with pytest.raises(ConfigError, match="to sign must be a folder; unpack it first"):
        sign_bundle(place / "b.zip", place / "lab.key")


def test_another_signer_or_none_is_refused_where_one_is_required(place: Path) -> None:
    with pytest.raises(BundleError, match=r"must be signed by [0-9a-f]{64}, got the signature of [0-9a-f]{64}"):
        read_bundle(place / "b", signer=place / "other.pub")
    (place / "b" / "bundle.sig").unlink()
    assert read_bundle(place / "b").signer is None
    with pytest.raises(BundleError, match=r"must be signed, it has no bundle.sig; sign it with hmor sign"):
        read_bundle(place / "b", signer=place / "lab.pub")
    with pytest.raises(ConfigError, match="signer of read_bundle must name at least one public key"):
        read_bundle(place / "b", signer=[])


def test_a_bundle_changed_with_all_hashes_corrected_no_longer_belongs_to_its_signature(place: Path) -> None:
    file = place / "b" / "bundle.json"
    description = json.loads(file.read_text())
    description["provenance"]["note"] = "changed"
    description["sha256"] = description_hash(description)
    file.write_text(json.dumps(description))
    for signer in (None, place / "lab.pub"):
        with pytest.raises(BundleError, match="the bundle was changed after it was signed; do not use it"):
            read_bundle(place / "b", signer=signer)
    sign_bundle(place / "b", place / "lab.key")
    assert read_bundle(place / "b", signer=place / "lab.pub").provenance["note"] == "changed"


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(algorithm="none"),
        lambda d: d.update(signer="00"),
        lambda d: d.update(signature=None),
        lambda d: d.pop("signature"),
        lambda d: d.update(signature="zz" * 64),
    ],
)
def test_a_signature_file_that_is_none(place: Path, change: object) -> None:
    file = place / "b" / "bundle.sig"
    said = json.loads(file.read_text())
    change(said)  # type: ignore[operator]
    file.write_text(json.dumps(said))
    with pytest.raises(BundleError, match=r"bundle.sig of bundle .* must be as hmor sign writes it"):
        read_bundle(place / "b")
    for content in (b"", b"\xff\xfe", b"[]", b"{" * 2000, b"x" * 5000):
        file.write_bytes(content)
        with pytest.raises(BundleError, match=r"(must be as hmor sign writes it|must have at most 4096 bytes)"):
            read_bundle(place / "b")


def test_a_forged_signature_of_the_right_key(place: Path) -> None:
    file = place / "b" / "bundle.sig"
    said = json.loads(file.read_text())
    said["signature"] = "00" * 64
    file.write_text(json.dumps(said))
    with pytest.raises(BundleError, match="do not use it"):
        read_bundle(place / "b", signer=place / "lab.pub")


def test_keys_are_checked(place: Path) -> None:
    with pytest.raises(ConfigError, match="must be new, found one there"):
        new_key(place / "lab.key")
    with pytest.raises(ConfigError, match=r"Key file .* must exist; make one with: hmor sign --new-key"):
        sign_bundle(place / "b", place / "none.key")
    (place / "empty.key").touch(0o600)
    with pytest.raises(ConfigError, match="must hold a private Ed25519 key in PEM, without a password"):
        sign_bundle(place / "b", place / "empty.key")
    with pytest.raises(ConfigError, match="must hold a public Ed25519 key in PEM"):
        read_bundle(place / "b", signer=place / "lab.key")
    os.chmod(place / "lab.key", 0o644)
    with pytest.raises(ConfigError, match="must be readable by its owner alone; chmod 600 it"):
        sign_bundle(place / "b", place / "lab.key")
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    (place / "curve.pub").write_bytes(
        key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)
    )
    with pytest.raises(ConfigError, match="must hold a public Ed25519 key, got one of another kind"):
        read_bundle(place / "b", signer=place / "curve.pub")


def test_a_broken_bundle_is_not_signed(place: Path) -> None:
    (place / "b" / "model.onnx").write_bytes(b"broken")
    with pytest.raises(BundleError, match="was changed or cut off"):
        sign_bundle(place / "b", place / "lab.key")
    assert not (place / "b" / "bundle.sig").exists()


def test_without_the_package_a_required_signature_is_refused_and_another_not_counted(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cryptography.exceptions", "cryptography.hazmat.primitives.asymmetric"):
        monkeypatch.setitem(sys.modules, name, None)
    assert read_bundle(place / "b").signer is None
    with pytest.raises(MissingExtra, match=r"run pip install 'hybrid-mor\[sign\]'"):
        read_bundle(place / "b", signer=place / "lab.pub")
    assert module.SIGNATURE == "bundle.sig"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_keys_of_openssl_are_taken(place: Path) -> None:
    key, public = place / "own.key", place / "own.pub"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], check=True, capture_output=True)
    os.chmod(key, 0o600)
    assert read_bundle(place / "b").signer != sign_bundle(place / "b", key)
    read_bundle(place / "b", signer=public)


@pytest.mark.parametrize("name", ["double", "single"])
def test_bundles_of_the_version_before_are_read(name: str) -> None:
    """Written by version 0.1 before these checks: 200 golden rows, tolerance and metadata as they are required now."""
    loaded = load_bundle(ROOT / "tests" / "fixtures" / f"bundle_0_1_{name}.zip")
    assert loaded.bundle.signer is None
    assert all(worst <= loaded.bundle.models[key].tolerance for key, worst in loaded.differences.items())
