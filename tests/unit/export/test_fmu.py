"""FMUs of both standards: valid for FMPy, right numbers, state, instances, step sizes, a plain C host."""

from __future__ import annotations

import ctypes as ct
import io
import re
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import fmpy
import fmpy.fmi2
import fmpy.fmi3
import numpy as np
import pytest
from fmpy.validation import validate_fmu

from export.c.compiler import find_cross_compiler
from export.fmu.host import FmuHost
from export.fmu.units import base_unit
from export.fmu.writer import SOURCES, fmu_file, fmu_sources
from export.forms import form_of
from mor.data.ports import Port
from mor.reduced.base import ReducedModel
from mor.reduced.memory import MemoryModel
from rt_runtime.bundle.read import difference
from rt_runtime.errors import ConfigError
from tests.reference.exported_models import network, network_with_memory

MODELS: dict[str, ReducedModel] = {"static": network(outputs=2), "memory": network_with_memory()}
HERE = Path(__file__).parent
HEADERS = Path(fmpy.__file__).parent / "c-code"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both models as FMUs of both standards: {kind}{version}.fmu."""
    place = tmp_path_factory.mktemp("fmu")
    for kind, model in MODELS.items():
        for version in (2, 3):
            content, skipped = fmu_file(form_of(model, "brake"), "float64", version)
            assert skipped == []
            (place / f"{kind}{version}.fmu").write_bytes(content)
    return place


def inputs(n: int) -> np.ndarray:
    return np.random.default_rng(2).uniform([0.0, -5.0], [50.0, 49.0], (n, 2))


def expected(model: ReducedModel, u: np.ndarray) -> np.ndarray:
    return model.rollout(u) if isinstance(model, MemoryModel) else model.predict(u)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", MODELS)
def test_fmpy_validates_and_simulates(folder: Path, kind: str, version: int) -> None:
    file = str(folder / f"{kind}{version}.fmu")
    assert validate_fmu(file) == []
    model, u = MODELS[kind], inputs(300)
    time = np.arange(len(u) + 1) * 1e-3
    columns = [("time", float), ("F_br", float), ("w_rw", float)]
    signal = np.array([(t, *row) for t, row in zip(time, [*u, u[-1]], strict=True)], dtype=columns)
    names = [p.name for p in model.outputs]
    result = fmpy.simulate_fmu(
        file, stop_time=time[-1], step_size=1e-3, output_interval=1e-3, input=signal, output=names, validate=True
    )
    got = np.column_stack([result[name] for name in names])
    assert difference(got[1:], expected(model, u)) < 1e-14
    assert difference(got[:1], expected(model, u)[:1]) < 1e-14  # initialised with the inputs of time zero


@pytest.mark.parametrize("version", [2, 3])
def test_the_description_has_units_ranges_and_unknowns(folder: Path, version: int) -> None:
    description = fmpy.read_model_description(str(folder / f"memory{version}.fmu"))
    variables = {v.name: v for v in description.modelVariables}
    force, torque = variables["F_br"], variables["tau_rw"]
    assert (force.causality, force.unit, float(force.start), float(force.min), float(force.max)) == (
        "input", "N", 0.0, 0.0, 50.0,
    )  # fmt: skip
    assert (torque.causality, torque.unit, torque.initial, float(torque.min), float(torque.max)) == (
        "output", "N m", "calculated", 10.0, 80.0,
    )  # fmt: skip
    assert [u.variable.name for u in description.initialUnknowns] == ["tau_rw"]
    assert [v.name for v in description.outputs[0].dependencies] == ["F_br", "w_rw"]
    slave = description.coSimulation
    assert slave.canGetAndSetFMUstate and slave.canSerializeFMUstate and not slave.canBeInstantiatedOnlyOncePerProcess
    assert float(description.defaultExperiment.stepSize) == 1e-3
    if version == 3:
        assert float(slave.fixedInternalStepSize) == 1e-3
    units = {u.name: u.baseUnit for u in description.unitDefinitions}
    assert (units["N m"].kg, units["N m"].m, units["N m"].s) == (1, 2, -2)
    assert (units["rad/s"].rad, units["rad/s"].s) == (1, -1)


def open_instances(file: Path, n: int) -> tuple[list[Any], Any]:
    """FMPy instances in step mode."""
    description = fmpy.read_model_description(str(file))
    place = fmpy.extract(str(file))
    v2 = description.fmiVersion == "2.0"
    kind = fmpy.fmi2.FMU2Slave if v2 else fmpy.fmi3.FMU3Slave
    made = []
    for i in range(n):
        fmu = kind(guid=description.guid, unzipDirectory=place, modelIdentifier="brake", instanceName=f"instance {i}")
        fmu.instantiate()
        if v2:
            fmu.setupExperiment(startTime=0.0)
        fmu.enterInitializationMode()
        fmu.exitInitializationMode()
        made.append(fmu)
    return made, (v2, description)


def step(fmu: Any, v2: bool, k: int, row: np.ndarray) -> float:
    (fmu.setReal if v2 else fmu.setFloat64)([1, 2], list(row))
    fmu.doStep(currentCommunicationPoint=k * 1e-3, communicationStepSize=1e-3)
    return float((fmu.getReal if v2 else fmu.getFloat64)([3])[0])


@pytest.mark.parametrize("version", [2, 3])
def test_several_instances_save_restore_serialise_and_reset(folder: Path, version: int) -> None:
    (a, b), (v2, _) = open_instances(folder / f"memory{version}.fmu", 2)
    model, u = MODELS["memory"], inputs(60)
    y = expected(model, u)[:, 0]
    get, put = (a.getFMUstate, a.setFMUstate) if v2 else (a.getFMUState, a.setFMUState)
    got = [step(a, v2, k, u[k]) for k in range(20)]
    state = get()
    ahead = [step(a, v2, k, u[k]) for k in range(20, 40)]
    interleaved = [step(b, v2, k, u[k]) for k in range(20)]
    put(state)
    again = [step(a, v2, k, u[k]) for k in range(20, 40)]
    assert ahead == again and interleaved == got
    np.testing.assert_allclose(got + again, y[:40], rtol=1e-13)
    serialize = a.serializeFMUstate if v2 else a.serializeFMUState
    deserialize = b.deSerializeFMUstate if v2 else b.deserializeFMUState
    raw = serialize(state)
    other = deserialize(raw)
    (b.setFMUstate if v2 else b.setFMUState)(other)
    assert [step(b, v2, k, u[k]) for k in range(20, 40)] == ahead
    at = raw.find(np.float64(u[19, 0]).tobytes())  # an input of the last step
    spoiled = raw[:at] + np.float64(np.nan).tobytes() + raw[at + 8 :]
    for bad in (b"x" * len(raw), spoiled):
        with pytest.raises(Exception, match=r"(?i)deserializeFMUState"):
            deserialize(bad)
    a.reset()
    if v2:
        a.setupExperiment(startTime=0.0)
    a.enterInitializationMode()
    a.exitInitializationMode()
    assert [step(a, v2, k, u[k]) for k in range(20)] == got
    for fmu in (a, b):
        fmu.terminate()
        fmu.freeInstance()


@pytest.mark.parametrize("version", [2, 3])
def test_steps_are_whole_multiples_of_dt_or_refused(folder: Path, version: int) -> None:
    model, u = MODELS["memory"], inputs(30)
    content = (folder / f"memory{version}.fmu").read_bytes()
    with FmuHost(content, 2, 1) as host:
        coarse = host.run(u, 3e-3)
    held = expected(model, np.repeat(u, 3, axis=0))[2::3]
    assert difference(coarse, held) < 1e-14
    for h in (1.5e-3, 0.5e-3, 0.0, -1e-3, float("nan"), 1e30):
        with (
            FmuHost(content, 2, 1) as host,
            pytest.raises(ConfigError, match=rf"accept fmi{version}DoStep, got status 3"),
        ):
            host.run(u, h)
    with FmuHost((folder / f"static{version}.fmu").read_bytes(), 2, 2) as host:
        assert difference(host.run(u, 0.0123), expected(MODELS["static"], u)) < 1e-14


@pytest.mark.parametrize("version", [2, 3])
def test_wrong_calls_are_refused_and_logged(folder: Path, version: int, capfd: pytest.CaptureFixture[str]) -> None:
    (fmu,), (v2, _) = open_instances(folder / f"memory{version}.fmu", 1)
    put = fmu.setReal if v2 else fmu.setFloat64
    get = fmu.getReal if v2 else fmu.getFloat64
    with pytest.raises(Exception, match="status 3"):
        put([3], [1.0])  # an output
    with pytest.raises(Exception, match="status 3"):
        put([1], [float("nan")])
    with pytest.raises(Exception, match="status 3"):
        get([99])
    with pytest.raises(Exception, match="status 3"):
        fmu.doStep(currentCommunicationPoint=0.0, communicationStepSize=1.5e-3)
    with pytest.raises(Exception, match="status 3"):
        fmu.enterInitializationMode()
    fmu.terminate()
    with pytest.raises(Exception, match="status 3"):
        fmu.doStep(currentCommunicationPoint=0.0, communicationStepSize=1e-3)
    fmu.freeInstance()
    assert "must be a whole multiple of 0.001 s" in capfd.readouterr().out


@pytest.mark.parametrize("version", [2, 3])
def test_time_that_is_nan_or_goes_back_is_refused(
    folder: Path, version: int, capfd: pytest.CaptureFixture[str]
) -> None:
    (fmu,), (v2, _) = open_instances(folder / f"memory{version}.fmu", 1)
    u = inputs(5)
    first = [step(fmu, v2, k, u[k]) for k in range(3)]
    for point in (float("nan"), float("inf"), -1.0, 1e-3):
        with pytest.raises(Exception, match="status 3"):
            fmu.doStep(currentCommunicationPoint=point, communicationStepSize=1e-3)
    after = [step(fmu, v2, k, u[k]) for k in (3, 4)]
    np.testing.assert_allclose(first + after, expected(MODELS["memory"], u)[:, 0], rtol=1e-13)  # nothing moved
    fmu.freeInstance()
    assert "Time of a step must be a finite number that does not go back." in capfd.readouterr().out
    (late,), _ = open_instances(folder / f"static{version}.fmu", 1)
    with pytest.raises(Exception, match="status 3"):
        late.doStep(currentCommunicationPoint=0.0, communicationStepSize=float("inf"))
    late.reset()
    begin = late.setupExperiment if v2 else late.enterInitializationMode
    with pytest.raises(Exception, match="status 3"):
        begin(startTime=float("nan"))
    late.freeInstance()


@pytest.mark.parametrize("version", [2, 3])
def test_an_output_that_is_not_finite_is_discarded_and_the_step_undone(tmp_path: Path, version: int) -> None:
    content, _ = fmu_file(form_of(network("relu"), "brake"), "float64", version)
    (tmp_path / "brake.fmu").write_bytes(content)
    (fmu,), (v2, _) = open_instances(tmp_path / "brake.fmu", 1)
    good = step(fmu, v2, 0, np.array([10.0, 3.0]))
    put, get = (fmu.setReal, fmu.getReal) if v2 else (fmu.setFloat64, fmu.getFloat64)
    put([1, 2], [1e308, 1e308])
    with pytest.raises(Exception, match="status 2"):  # discard
        fmu.doStep(currentCommunicationPoint=1e-3, communicationStepSize=1e-3)
    assert get([0])[0] == pytest.approx(1e-3) and get([3])[0] == good
    put([1, 2], [10.0, 3.0])
    fmu.doStep(currentCommunicationPoint=1e-3, communicationStepSize=1e-3)
    assert get([3])[0] == good
    fmu.reset()
    if v2:
        fmu.setupExperiment(startTime=0.0)
    fmu.enterInitializationMode()
    put([1, 2], [1e308, 1e308])
    with pytest.raises(Exception, match="status 2"):
        get([3])
    with pytest.raises(Exception, match="status 3"):
        fmu.exitInitializationMode()
    put([1, 2], [10.0, 3.0])
    fmu.exitInitializationMode()
    assert get([3])[0] == good
    fmu.freeInstance()


def test_it_runs_in_a_plain_c_host(folder: Path, tmp_path: Path) -> None:
    subprocess.run(
        ["gcc", "-std=c99", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", str(HERE / "fmu_plain_host.c"), "-o"]
        + [str(tmp_path / "host"), "-ldl"],
        check=True,
    )
    with zipfile.ZipFile(folder / "memory2.fmu") as archive:
        archive.extract("binaries/linux64/brake.so", tmp_path)
        guid = ET.fromstring(archive.read("modelDescription.xml")).attrib["guid"]
    u = inputs(500)
    done = subprocess.run(
        [str(tmp_path / "host"), str(tmp_path / "binaries/linux64/brake.so"), guid, "2", "1", "0.001"],
        input=u.tobytes(), capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0
    assert difference(np.frombuffer(done.stdout).reshape(-1, 1), expected(MODELS["memory"], u)) < 1e-14


@pytest.mark.parametrize("version", [2, 3])
def test_sources_agree_with_the_headers_of_the_standard(version: int, tmp_path: Path) -> None:
    sources = fmu_sources(form_of(MODELS["memory"], "brake"), "float64", version)
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    for name in SOURCES[version]:
        command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-DHMOR_STANDARD_HEADERS", f"-I{HEADERS}", "-c"]
        subprocess.run([*command, name, "-o", f"{name}.o"], cwd=tmp_path, check=True)
    symbols = subprocess.run(["nm", *map(str, tmp_path.glob("*.o"))], capture_output=True, text=True, check=True).stdout
    header = (HEADERS / f"fmi{version}Functions.h").read_text()
    declared = set(re.findall(rf"FMI{version}_Export\s+(fmi{version}\w+)TYPE", header))
    exported = {word for word in symbols.split() if word.startswith(f"fmi{version}")}
    model_exchange = {
        "fmi2EnterEventMode", "fmi2NewDiscreteStates", "fmi2EnterContinuousTimeMode", "fmi2CompletedIntegratorStep",
        "fmi2SetTime", "fmi2SetContinuousStates", "fmi2GetDerivatives", "fmi2GetEventIndicators",
        "fmi2GetContinuousStates", "fmi2GetNominalsOfContinuousStates",
    }  # fmt: skip
    assert len(declared) > 40
    assert declared - model_exchange == exported


def test_two_source_fmus_link_into_one_program(tmp_path: Path) -> None:
    objects = []
    for name, model in (("front", MODELS["static"]), ("rear", MODELS["memory"])):
        place = tmp_path / name
        place.mkdir()
        sources = fmu_sources(form_of(model, name), "float64", 2)
        for file, text in sources.items():
            (place / file).write_text(text)
        for file in ("fmi2.c", f"{name}.c"):
            subprocess.run(
                ["gcc", "-std=c99", f"-DFMI2_FUNCTION_PREFIX={name}_", "-fPIC", "-c", file, "-o", f"{file}.o"],
                cwd=place, check=True,
            )  # fmt: skip
            objects.append(str(place / f"{file}.o"))
    subprocess.run(["gcc", "-shared", *objects, "-o", str(tmp_path / "both.so"), "-lm"], check=True)
    library = ct.CDLL(str(tmp_path / "both.so"))
    for name in ("front", "rear"):
        version = getattr(library, f"{name}_fmi2GetVersion")
        version.restype = ct.c_char_p
        assert version() == b"2.0"


def test_the_same_model_gives_the_same_bytes_and_another_another_token() -> None:
    form = form_of(network(), "brake")
    one, two = fmu_file(form, "float64", 2)[0], fmu_file(form, "float64", 2)[0]
    assert one == two
    other = replace(form, step=form_of(network(outputs=2), "brake").step)
    assert fmu_sources(form, "float64", 2)["token"] != fmu_sources(other, "float64", 2)["token"]


@pytest.mark.parametrize("version", [2, 3])
def test_without_a_compiler_the_sources_are_there_and_it_says_so(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr("export.fmu.writer.find_cross_compiler", lambda: None)
    content, skipped = fmu_file(form_of(network(), "brake"), "float64", version)
    assert len(skipped) == 1
    assert f"binary in the FMI {version}.0 FMU of 'brake' was skipped: no C compiler was found" in skipped[0]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
    assert "sources/brake.c" in names and not [n for n in names if n.startswith("binaries")]
    with pytest.raises(ConfigError, match="FMU of model 'brake' has no binary for this host"):
        FmuHost(content, 2, 1)


@pytest.mark.parametrize("version", [2, 3])
def test_a_host_builds_the_sources_it_finds_listed(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr("export.fmu.writer.find_cross_compiler", lambda: None)
    content, _ = fmu_file(form_of(MODELS["memory"], "brake"), "float64", version)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(tmp_path)
    listed = fmpy.read_model_description(str(tmp_path)).buildConfigurations[0].sourceFileSets[0].sourceFiles
    library = tmp_path / "binaries" / ("linux64" if version == 2 else "x86_64-linux") / "brake.so"
    library.parent.mkdir(parents=True)
    sources = [str(tmp_path / "sources" / name) for name in listed]
    subprocess.run(["gcc", "-std=c99", "-shared", "-fPIC", *sources, "-o", str(library), "-lm"], check=True)
    result = fmpy.simulate_fmu(str(tmp_path), stop_time=0.01, step_size=1e-3, output=["tau_rw"])
    held = expected(MODELS["memory"], np.zeros((10, 2)))
    assert difference(result["tau_rw"][1:, None], held) < 1e-14


def test_single_precision_inside_double_outside() -> None:
    model, u = network(), inputs(100)
    with FmuHost(fmu_file(form_of(model, "brake"), "float32", 2)[0], 2, 1) as host:
        assert 1e-9 < difference(host.run(u, 1e-3), expected(model, u)) < 1e-5


def test_units_are_read_as_far_as_they_are_known() -> None:
    assert base_unit("N m") == ({"kg": 1, "m": 2, "s": -2}, 1.0)
    assert base_unit("rad/s") == ({"rad": 1, "s": -1}, 1.0)
    assert base_unit("kg/m^3") == ({"kg": 1, "m": -3}, 1.0)
    assert base_unit("mm") == ({"m": 1}, 1e-3)
    assert base_unit("kN/mm") == ({"kg": 1, "s": -2}, 1e6)
    assert base_unit("m/s/s") == ({"m": 1, "s": -2}, 1.0)
    assert base_unit("1") == ({}, 1.0)
    assert base_unit("furlong") is None and base_unit("°C") is None
    odd = replace(form_of(network(), "brake"), outputs=(Port("tau_rw", 'a<b>&"c"'),))
    with zipfile.ZipFile(io.BytesIO(fmu_file(odd, "float64", 2)[0])) as archive:
        units = ET.fromstring(archive.read("modelDescription.xml")).findall("UnitDefinitions/Unit")
    assert [u.attrib["name"] for u in units] == ["N", 'a<b>&"c"', "rad/s"]


@pytest.mark.skipif(
    find_cross_compiler() is None, reason="mingw-w64 is not installed; it makes the Windows binaries of FMUs"
)
@pytest.mark.parametrize(("version", "folder"), [(2, "win64"), (3, "x86_64-windows")])
def test_windows_binaries_by_cross_compilation(version: int, folder: str) -> None:
    content, _ = fmu_file(form_of(network(), "brake"), "float64", version)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        library = archive.read(f"binaries/{folder}/brake.dll")
    assert library[:2] == b"MZ" and f"fmi{version}DoStep".encode() in library
