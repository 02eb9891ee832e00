"""`hmor sign`, `hmor verify`, and a study that takes bundles of one signer alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from export import write
from hmor.study.file import load_study
from hmor.study.run import prepare
from rt_runtime.bundle.signature import new_key, sign_bundle
from rt_runtime.errors import BundleError
from tests.reference.exported_models import network
from tests.unit.hmor.commands.test_help import hmor

STUDY = """
[study]
name = "signed"
[run]
loop = "hmor.rigs:sine_target"
rate = 1000.0
duration = 0.1
paced = false
bundles = { rom = "b" }
signer = "lab.pub"
[run.actuator]
kind = "simulated"
measured = { position = "m" }
[[run.commands]]
wanted = "wanted"
name = "command"
lower = -1.0
upper = 1.0
rate = 10.0
"""


def test_sign_and_verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(network(), tmp_path / "b", name="rom")
    bundle, key, public = (str(tmp_path / name) for name in ("b", "lab.key", "lab.pub"))
    code, out, _ = hmor("verify", bundle, monkeypatch=monkeypatch)
    assert code == 0 and out.endswith("is whole and not signed.\n") and "Model rom repeats its golden vectors" in out
    code, _, err = hmor("verify", bundle, "--key", public, monkeypatch=monkeypatch)
    assert code == 2 and "must exist; hmor sign --new-key writes one" in err
    assert hmor("sign", "--new-key", key, monkeypatch=monkeypatch)[0] == 0
    code, _, err = hmor("verify", bundle, "--key", public, monkeypatch=monkeypatch)
    assert code == 2 and "must be signed, it has no bundle.sig" in err
    code, out, _ = hmor("sign", bundle, "--key", key, "--json", monkeypatch=monkeypatch)
    signer = json.loads(out)["signer"]
    code, out, _ = hmor("verify", bundle, "--key", public, "--json", monkeypatch=monkeypatch)
    assert code == 0 and json.loads(out)["signer"] == signer
    assert f"signed    by {signer}" in hmor("info", bundle, monkeypatch=monkeypatch)[1]
    assert hmor("sign", bundle, monkeypatch=monkeypatch)[0] == 2
    assert hmor("sign", bundle, "--key", key, "--new-key", key, monkeypatch=monkeypatch)[0] == 2
    write(network(), tmp_path / "b", name="rom", overwrite=True)  # the signature goes with the old bundle
    assert hmor("verify", bundle, "--key", public, monkeypatch=monkeypatch)[0] == 2


def test_a_study_may_require_a_signer(tmp_path: Path) -> None:
    write(network(), tmp_path / "b")
    new_key(tmp_path / "lab.key")
    (tmp_path / "study.toml").write_text(STUDY)
    study = load_study(tmp_path / "study.toml")
    assert study.run is not None
    with pytest.raises(BundleError, match="must be signed"):
        prepare(study.run, tmp_path, 0)
    sign_bundle(tmp_path / "b", tmp_path / "lab.key")
    assert prepare(study.run, tmp_path, 0).bundles["rom"].bundle.signer is not None
    new_key(tmp_path / "other.key")
    (tmp_path / "study.toml").write_text(STUDY.replace('"lab.pub"', '["other.pub"]'))
    with pytest.raises(BundleError, match="got the signature of"):
        prepare(load_study(tmp_path / "study.toml").run, tmp_path, 0)  # type: ignore[arg-type]


def test_a_sentence_never_carries_terminal_sequences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, err = hmor("verify", str(tmp_path / "\x1b[31mred"), monkeypatch=monkeypatch)
    assert code == 2 and "\x1b" not in err and r"\x1b[31mred" in err
