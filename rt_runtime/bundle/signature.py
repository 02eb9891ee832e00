"""Ed25519 signatures of bundles: who vouches for a model. Outside the loop.

`bundle.sig` beside bundle.json holds the public key and the signature of the bytes of bundle.json, which in turn name
the hash of every file. Keys are PEM files (PKCS 8 and SubjectPublicKeyInfo), as `openssl genpkey -algorithm ed25519`
writes them. Needs the package cryptography (extra `sign`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rt_runtime.bundle.files import DESCRIPTION, SIGNATURE, BundleFiles, strict_json
from rt_runtime.errors import BundleError, ConfigError, MissingExtra
from rt_runtime.files import write_file

_PREFIX = b"hybrid-mor bundle, signature format 1\n"  # nothing else that this key signs can be taken for a bundle
_MAX_BYTES = 4096


def new_key(path: str | Path) -> tuple[Path, Path]:
    """Write a new private key to `path`, readable by its owner alone, and its public key beside it as .pub."""
    from cryptography.hazmat.primitives import serialization as s

    secret, public = Path(path), Path(path).with_suffix(".pub")
    for file in (secret, public):
        if file.exists():
            raise ConfigError(f"Key file {file} must be new, found one there; choose another name.")
    key = _ed25519().Ed25519PrivateKey.generate()
    handle = os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as stream:
        stream.write(key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()))
    write_file(public, key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo))
    return secret, public


def sign_bundle(bundle: str | Path, key_file: str | Path) -> str:
    """Check the bundle in folder `bundle` and sign it with a private key; return the signer.

    Returns
    -------
    signer : str
        The public key in hexadecimal digits. An older signature is replaced.
    """
    from rt_runtime.bundle.rom import load_bundle

    folder = Path(bundle)
    if not folder.is_dir():
        raise ConfigError(f"Bundle '{folder}' to sign must be a folder; unpack it first and pack it again afterwards.")
    key = _private_key(Path(key_file))
    (folder / SIGNATURE).unlink(missing_ok=True)
    content = load_bundle(folder).bundle.own[DESCRIPTION]  # the very bytes that were checked
    signer = key.public_key().public_bytes_raw().hex()
    said = {"algorithm": "ed25519", "signer": signer, "signature": key.sign(_PREFIX + content).hex()}
    write_file(folder / SIGNATURE, json.dumps(said, indent=2) + "\n")
    return str(signer)


def read_signature(files: BundleFiles) -> bytes | None:
    """Return the content of bundle.sig, None where there is none."""
    return files.read(SIGNATURE, _MAX_BYTES) if files.has(SIGNATURE) else None


def check_signature(path: Path, description: bytes, signature: bytes | None, keys: Sequence[str | Path]) -> str | None:
    """Return the signer of a bundle, None when nobody signed it; refuse a signature that is wrong or of another signer.

    Parameters
    ----------
    path : Path
        Of the bundle, for the sentence.
    description : bytes
        Content of bundle.json.
    signature : bytes or None
        Content of bundle.sig.
    keys : sequence of paths
        Public keys, one of which must have signed; empty: any signer will do, and none as well.

    Notes
    -----
    Without the package cryptography a signature nobody asked for is not checked, and the bundle counts as not signed.
    """
    allowed = [_public_key(Path(file)).public_bytes_raw().hex() for file in keys]
    if signature is None:
        if keys:
            raise BundleError(f"Bundle '{path}' must be signed, it has no {SIGNATURE}; sign it with hmor sign.")
        return None
    try:
        said = strict_json(signature.decode())
        signer, numbers = bytes.fromhex(said["signer"]), bytes.fromhex(said["signature"])
        if said["algorithm"] != "ed25519" or len(signer) != 32 or len(numbers) != 64:
            raise ValueError
    except (ValueError, TypeError, KeyError):
        raise BundleError(
            f"{SIGNATURE} of bundle '{path}' must be as hmor sign writes it; sign the bundle again or delete the file."
        ) from None
    if allowed and signer.hex() not in allowed:
        raise BundleError(
            f"Bundle '{path}' must be signed by {' or '.join(allowed)}, got the signature of {signer.hex()}; use a "
            "bundle of that signer or name the other key."
        )
    try:
        from cryptography.exceptions import InvalidSignature

        key = _ed25519().Ed25519PublicKey.from_public_bytes(signer)
    except ImportError:
        return None
    except ValueError:
        raise BundleError(f"Signer of bundle '{path}' must be an Ed25519 key, got {signer.hex()}.") from None
    try:
        key.verify(numbers, _PREFIX + description)
    except InvalidSignature:
        raise BundleError(
            f"Signature of bundle '{path}' does not belong to its {DESCRIPTION}: the bundle was changed after it was "
            "signed; do not use it."
        ) from None
    return signer.hex()


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtra(
            "Signatures need the package cryptography, which is not installed; run pip install 'hybrid-mor[sign]'."
        ) from None
    return ed25519


def _private_key(path: Path) -> Any:
    kind = _ed25519().Ed25519PrivateKey
    if not path.is_file():
        raise ConfigError(f"Key file {path} must exist; make one with: hmor sign --new-key {path}.")
    if os.stat(path).st_mode & 0o077:
        raise ConfigError(f"Key file {path} must be readable by its owner alone; chmod 600 it.")
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = _load(path, "private", lambda data: load_pem_private_key(data, password=None))
    if not isinstance(key, kind):
        raise ConfigError(f"Key file {path} must hold a private Ed25519 key, got one of another kind.")
    return key


def _public_key(path: Path) -> Any:
    kind = _ed25519().Ed25519PublicKey
    if not path.is_file():
        raise ConfigError(f"File {path} with the public key of a signer must exist; hmor sign --new-key writes one.")
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    key = _load(path, "public", load_pem_public_key)
    if not isinstance(key, kind):
        raise ConfigError(f"Key file {path} must hold a public Ed25519 key, got one of another kind.")
    return key


def _load(path: Path, which: str, read: Any) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        with path.open("rb") as stream:
            return read(stream.read(_MAX_BYTES))
    except (ValueError, TypeError, UnsupportedAlgorithm):  # no PEM, or a key with a password
        raise ConfigError(f"Key file {path} must hold a {which} Ed25519 key in PEM, without a password.") from None
