"""Writing a bundle: what is in it, what is refused, and that nothing is left half done."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import export.writer as writer
from export import write
from export.golden import golden_excitation, golden_rows
from mor.data.ports import Port
from mor.reduced.gate import Gate
from mor.reduced.pce.model import Pce
from rt_runtime.bundle.checks import check_description
from rt_runtime.bundle.read import read_bundle
from rt_runtime.errors import BundleError, ConfigError
from tests.reference.exported_models import network, network_with_memory, polynomial
from tests.reference.linear_model import Linear

DOCS = Path(__file__).resolve().parents[3] / "docs"


def test_a_bundle_says_what_it_holds(tmp_path: Path) -> None:
    bundle = write(
        {"front": network(), "rear": network_with_memory()},
        tmp_path / "b",
        targets=("onnx", "c"),
        validation={"front": {"nrmse": 0.004}},
        provenance={"design": "lhs", "seed": 3},
    )
    front, rear = bundle.models["front"], bundle.models["rear"]
    assert [p.name for p in (tmp_path / "b").iterdir() if p.suffix] and sorted(bundle.content) == sorted(
        ["c/front.c", "c/front.h", "c/front_main.c", "c/front_mex.c", "c/rear.c", "c/rear.h", "c/rear_main.c"]
        + ["c/rear_mex.c", "front.golden.npz", "front.onnx", "rear.golden.npz", "rear.onnx"]
    )
    assert (front.kind, front.precision, front.dt, front.memory, front.tolerance) == (
        "ffnn",
        "float64",
        None,
        None,
        1e-9,
    )
    assert (front.inputs[1].name, front.inputs[1].unit, front.inputs[1].lower, front.inputs[1].upper) == (
        "w_rw", "rad/s", -5.0, 49.0,
    )  # fmt: skip
    assert front.validation == {"nrmse": 0.004} and rear.validation == {}
    assert bundle.provenance["design"] == "lhs" and bundle.provenance["versions"]["numpy"] == np.__version__
    assert rear.dt == 1e-3 and rear.memory is not None
    assert (rear.memory.input_lags, rear.memory.output_lags) == (1, 2)
    assert [s.name for s in rear.memory.state] == ["F_br_lag1", "w_rw_lag1", "tau_rw_lag1", "tau_rw_lag2"]
    assert (rear.outputs[0].lower, rear.outputs[0].upper) == (10.0, 80.0)
    assert front.golden.X.shape == (200, 2) and front.golden.u is None
    assert rear.golden.X.shape == (200, 6) and rear.golden.u is not None and rear.golden.u.shape == (2000, 2)
    with pytest.raises(ConfigError, match=r"holds several models \(front, rear\); choose one by \.models"):
        _ = bundle.model


def test_golden_rows_hold_corners_faces_and_inner_points() -> None:
    lower, upper = np.array([0.1, -3.0]), np.array([0.7, 11.0])
    rows = golden_rows(lower, upper, seed=0)
    assert {tuple(r) for r in rows[:4]} == {(0.1, -3.0), (0.1, 11.0), (0.7, -3.0), (0.7, 11.0)}
    on_edge = np.any((rows == lower) | (rows == upper), axis=1)
    assert on_edge[:53].all() and not on_edge[53:].any()
    assert np.all((rows >= lower) & (rows <= upper))
    many = golden_rows(np.zeros(9), np.ones(9), seed=0)
    assert many.shape == (200, 9) and not many[0].any() and many[1].all()
    u = golden_excitation(lower, upper, seed=0)
    assert np.any(u > upper) and np.any(u < lower)


def test_golden_free_run_is_the_rollout(tmp_path: Path) -> None:
    model = network_with_memory()
    golden = write(model, tmp_path / "b").model.golden
    assert golden.u is not None and golden.y is not None
    np.testing.assert_allclose(model.rollout(golden.u), golden.y, rtol=1e-13)
    assert len(np.unique(golden.y)) > 500


def test_the_same_model_gives_the_same_bundle(tmp_path: Path) -> None:
    one = write(polynomial(), tmp_path / "one", targets=("c", "fmu"))
    two = write(polynomial(), tmp_path / "two", targets=("c", "fmu"))
    assert one.description == two.description
    other = write(polynomial(), tmp_path / "three", targets=("c",), seed=1)
    assert other.content["model.golden.npz"] != one.content["model.golden.npz"]


@pytest.mark.parametrize("model", [network(), polynomial(5), network_with_memory()], ids=["ffnn", "pce", "memory"])
def test_single_precision_states_its_error(tmp_path: Path, model: object) -> None:
    entry = write(model, tmp_path / "b", precision="float32").model.description  # type: ignore[arg-type]
    assert entry["precision"] == "float32"
    assert 1e-9 < entry["precision_error"] < 1e-4
    assert entry["tolerance"] >= entry["precision_error"]


def test_a_bundle_is_replaced_only_when_told(tmp_path: Path) -> None:
    folder = tmp_path / "b"
    first = write(network(), folder)
    with pytest.raises(ConfigError, match="already holds a bundle; choose another folder or give overwrite=True"):
        write(polynomial(), folder)
    assert read_bundle(folder).description == first.description
    assert write(polynomial(), folder, overwrite=True).model.kind == "pce"
    assert not (folder / "c").exists()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"holds files that are not the bundle's \(notes.txt\); move them"):
        write(network(), folder, overwrite=True)
    assert (folder / "notes.txt").read_text() == "mine" and read_bundle(folder).model.kind == "pce"


def test_other_folders_and_files_are_never_touched(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert write(network(), other).model.name == "model"  # an empty folder is fine
    full = tmp_path / "full"
    full.mkdir()
    (full / "data.csv").write_text("1")
    with pytest.raises(ConfigError, match="must be new or hold a bundle, got other files; choose another"):
        write(network(), full, overwrite=True)
    file = tmp_path / "file"
    file.write_text("1")
    link = tmp_path / "link"
    link.symlink_to(full)
    for target in (file, link):
        with pytest.raises(ConfigError, match="must be a folder, got a file or a link"):
            write(network(), target, overwrite=True)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "bundle.json").write_text("{")
    (broken / "x.onnx").write_text("x")
    with pytest.raises(ConfigError, match=r"holds files that are not the bundle's \(x.onnx\)"):
        write(network(), broken, overwrite=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["broken", "file", "full", "link", "other"]


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "b"
    write(network(), folder)
    rename = writer.os.rename

    def fails(source: Path, target: Path) -> None:
        if Path(target) == folder and Path(source).name == "new":
            raise OSError("disk full")
        rename(source, target)

    monkeypatch.setattr(writer.os, "rename", fails)
    with pytest.raises(OSError, match="disk full"):
        write(polynomial(), folder, overwrite=True)
    assert read_bundle(folder).model.kind == "ffnn"
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


def test_a_bundle_that_nobody_could_read_replaces_none(tmp_path: Path) -> None:
    before = write(network(), tmp_path / "b")
    with pytest.raises(BundleError, match=rf"Bundle '{tmp_path / 'b'}': File 'model.onnx' must have at most 16777216"):
        write(network(hidden=(1500, 1500)), tmp_path / "b", overwrite=True)
    assert read_bundle(tmp_path / "b").content == before.content and before.path == tmp_path / "b"
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize(
    "name", ["2fast", "a-b", "", "while", "CLASS", "nul", "fmi2", "math", "String", "com1", "a" * 64, "bremse_ü"]
)
def test_names_of_models_are_c_identifiers(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="Name of a model must be a C identifier of at most 63 letters"):
        write(network(), tmp_path / "b", name=name)
    assert not (tmp_path / "b").exists()


def test_names_that_clash_are_all_listed(tmp_path: Path) -> None:
    same = network()
    clash = Linear((Port("x"),), (Port("x"), Port("Time")), same.domain, np.zeros(2), np.zeros((2, 1)))
    with pytest.raises(ConfigError) as error:
        write({"brake": same, "Brake": same, "loop": clash}, tmp_path / "b")
    text = str(error.value)
    assert "Names of models must differ by more than upper and lower case, got 'brake' twice." in text
    assert "Signals of model 'loop' must have different names, got 'x' twice" in text
    assert "Signal 'Time' of model 'loop' must not be called time" in text
    with pytest.raises(ConfigError, match=r"must give different files, got c/brake_main.c twice"):
        write({"brake": same, "brake_main": same}, tmp_path / "b", targets=("c",))


def test_a_model_without_a_domain_is_refused_or_given_one(tmp_path: Path) -> None:
    known = polynomial(3)
    arrays = known.arrays() | {"domain": np.array([[0.0, -np.inf], [50.0, np.inf]])}
    model = Pce.from_arrays(arrays, known.header())
    with pytest.raises(
        ConfigError, match=r"Domain of input 'w_rw' of model 'model' must be finite .* got \[-inf, inf\]"
    ):
        write(model, tmp_path / "b")
    bundle = write(model, tmp_path / "b", domain=([0.0, -5.0], [50.0, 49.0]))
    assert bundle.model.inputs[1].upper == 49.0
    by_name = write({"m": model}, tmp_path / "c", domain={"m": ([0.0, -5.0], [50.0, 40.0])})
    assert by_name.model.inputs[1].upper == 40.0


def test_a_wider_domain_does_not_change_the_clipping_of_a_memory(tmp_path: Path) -> None:
    model = network_with_memory()
    wide = (model.domain[0] - 100.0, model.domain[1] + 100.0)
    bundle = write(model, tmp_path / "b", domain=wide)
    X = bundle.model.golden.X
    np.testing.assert_array_equal(bundle.model.golden.Y, model.advance(X[:, :2], X[:, 2:])[0])


def test_wrong_requests(tmp_path: Path) -> None:
    inputs = (Port("a"), Port("b"))
    linear = Linear(inputs, (Port("y"),), network().domain, np.zeros(1), np.zeros((1, 2)))
    for problem, call in {
        "targets of write must be some of onnx, c, fmu, fmu3, got": lambda: write(
            network(), tmp_path / "b", targets=("so",)
        ),
        "targets of write must be some of .*, got 'onnx'": lambda: write(network(), tmp_path / "b", targets="onnx"),
        "precision of write must be one of float64, float32, got 'float16'": lambda: write(
            network(), tmp_path / "b", precision="float16"
        ),
        "write needs at least one model, got none": lambda: write({}, tmp_path / "b"),
        "Model 'm' of write must be a reduced model, got dict": lambda: write({"m": {}}, tmp_path / "b"),  # type: ignore[dict-item]
        "Kind of model 'model' must be one of ffnn, pce, kriging, gru to be exported, got 'linear'": lambda: write(
            linear, tmp_path / "b"
        ),
        "validation of model 'model' of write must be plain finite values": lambda: write(
            network(), tmp_path / "b", validation={"e": float("nan")}
        ),
        "provenance of write must be plain finite values ready for JSON": lambda: write(
            network(), tmp_path / "b", provenance={"e": object()}
        ),
    }.items():
        with pytest.raises(ConfigError, match=problem):
            call()
    assert list(tmp_path.iterdir()) == []


def test_polynomials_that_onnx_cannot_repeat_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "largest_tolerance", lambda kind, precision: 0.0)
    with pytest.raises(
        ConfigError, match="ONNX graph of model 'model' must repeat the model to 0, got a relative diff"
    ):
        write(polynomial(), tmp_path / "b")
    big = Pce.from_arrays(polynomial(2).arrays() | {"coefficients": np.full((6, 1), 1e200)}, polynomial(2).header())
    monkeypatch.undo()
    with pytest.raises(ConfigError, match="Model 'model' must stay finite in float32; use precision='float64'"):
        write(big, tmp_path / "b", precision="float32")
    monkeypatch.setitem(writer.TOLERANCES, "float32", 1e-8)
    with pytest.raises(
        ConfigError, match="Model 'model' must be repeated to 1e-09 in float32, got a relative difference"
    ):
        write(polynomial(), tmp_path / "b", precision="float32")


def test_the_example_follows_the_schema_and_the_reader() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((DOCS / "bundle.schema.json").read_text())
    example = json.loads((DOCS / "bundle.example.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(example, schema)
    assert check_description(example) == []


def test_what_is_written_follows_the_schema(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((DOCS / "bundle.schema.json").read_text())
    gated = Gate("F_br", 1.0).around(network())
    models = {"a": network(), "b": network_with_memory(), "c": gated}
    bundle = write(models, tmp_path / "b", targets=("c",))
    jsonschema.validate(bundle.description, schema)
    assert ["gate" in entry for entry in bundle.description["models"]] == [False, False, True]
    for key in bundle.description:
        broken = {k: v for k, v in bundle.description.items() if k != key}
        assert not jsonschema.Draft202012Validator(schema).is_valid(broken)
        assert check_description(broken) != []
    for key in bundle.description["models"][0]:
        models = [{k: v for k, v in bundle.description["models"][0].items() if k != key}]
        broken = {**bundle.description, "models": models}
        assert not jsonschema.Draft202012Validator(schema).is_valid(broken)
        assert check_description(broken) != []
