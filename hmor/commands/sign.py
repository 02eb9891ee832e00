"""`hmor sign` and `hmor verify`: who vouches for a bundle, and whether it is whole."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hmor.options import JsonOption


def verify(bundle: Path, keys: list[Path]) -> dict[str, Any]:
    """Check a bundle from end to end, its golden vectors and its signature included; return what `--json` prints."""
    from rt_runtime import load_bundle

    loaded = load_bundle(bundle, signer=keys or None)
    return {
        "bundle": str(bundle),
        "sha256": loaded.bundle.description["sha256"],
        "signer": loaded.bundle.signer,
        "models": {
            name: {"difference": worst, "tolerance": loaded.bundle.models[name].tolerance}
            for name, worst in loaded.differences.items()
        },
    }


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""

    @app.command("sign")
    def sign(
        bundle: Annotated[Path | None, typer.Argument(metavar="BUNDLE", help="Folder of the bundle.")] = None,
        key: Annotated[Path | None, typer.Option(metavar="FILE", help="Private Ed25519 key; see --new-key.")] = None,
        make_key: Annotated[
            Path | None,
            typer.Option("--new-key", metavar="FILE", help="Write a new key, and its public key as .pub, and end."),
        ] = None,
        as_json: JsonOption = False,
    ) -> None:
        """Sign a bundle with an Ed25519 key.

        The bundle is checked first. The signature goes into bundle.sig and covers every file; an older one is
        replaced. A study takes bundles of known signers alone with signer = "lab.pub" in [run]. For example:

        \b
            hmor sign --new-key lab.key
            hmor sign spring.bundle --key lab.key
            hmor verify spring.bundle --key lab.pub
        """
        from rt_runtime.bundle.signature import new_key, sign_bundle
        from rt_runtime.errors import ConfigError

        if make_key is not None:
            if bundle is not None or key is not None:
                raise ConfigError("hmor sign --new-key only writes a key; sign the bundle in a second step.")
            secret, public = new_key(make_key)
            print(f"Wrote {secret}, keep it to yourself, and {public} for those who verify.", file=sys.stderr)
            return
        if bundle is None or key is None:
            raise ConfigError("hmor sign needs a BUNDLE and --key FILE with a private key; --new-key makes one.")
        signer = sign_bundle(bundle, key)
        if as_json:
            print(json.dumps({"bundle": str(bundle), "signer": signer}, indent=2))
        else:
            print(f"Bundle {bundle} is signed by {signer}.")

    @app.command("verify")
    def check(
        bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle, or a zip file of one.")],
        key: Annotated[
            list[Path] | None,
            typer.Option(metavar="FILE", help="Public key that must have signed; given again, one of them."),
        ] = None,
        as_json: JsonOption = False,
    ) -> None:
        """Check a bundle: files, golden vectors, who signed it.

        Ends with exit code 2 and a sentence when anything is wrong. For example:

        \b
            hmor verify spring.bundle
            hmor verify spring.bundle --key lab.pub
        """
        result = verify(bundle, key or [])
        if as_json:
            print(json.dumps(result, indent=2))
            return
        for name, found in result["models"].items():
            print(f"Model {name} repeats its golden vectors to {found['difference']:.1e} of {found['tolerance']:g}.")
        print(f"Bundle {bundle} is whole and " + (f"signed by {s}." if (s := result["signer"]) else "not signed."))
