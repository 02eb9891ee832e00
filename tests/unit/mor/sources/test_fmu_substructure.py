"""FMUs as substructures: right numbers for every kind, and a sentence for each FMU that cannot be run."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from export.fmu.writer import fmu_file
from export.forms import form_of
from mor import HybridModel, ParameterSpace, Uniform, lhs, run_design
from mor.campaign import SimulationModel
from mor.sources import FmuSubstructure
from mor.substructures import StaticSubstructure
from rt_runtime.errors import ConfigError, Tripped
from tests.fixtures.fmus import oscillator_fmu
from tests.reference.exported_models import network, network_with_memory

DT = 1e-3


def step_response(t: np.ndarray, f: float, zeta: float) -> np.ndarray:
    w, wd = 2 * np.pi * f, 2 * np.pi * f * np.sqrt(1 - zeta**2)
    return (1 - np.exp(-zeta * w * t) * (np.cos(wd * t) + zeta * w / wd * np.sin(wd * t))) / w**2


@pytest.mark.parametrize("exchange", [False, True], ids=["co-simulation", "model exchange"])
def test_the_step_response_is_that_of_the_equation(tmp_path: Path, exchange: bool) -> None:
    part = FmuSubstructure(oscillator_fmu(tmp_path / "o.fmu", exchange=exchange), outputs={"position": "x"})
    assert part.signature() == "u [N] -> position [m]"
    assert [(p.name, p.value, p.unit, p.lower, p.upper) for p in part.parameters] == [
        ("f", 1.0, "Hz", 0.1, 20.0),
        ("zeta", 0.02, "", 0.0, 1.0),
    ]
    assert part.direct == (frozenset({"u"}) if exchange else frozenset())
    run = part.simulate(np.ones(1001), dt=DT, parameters={"f": 2.0, "zeta": 0.1})
    expected = step_response(run.time, 2.0, 0.1)
    np.testing.assert_allclose(run["position"], expected, atol=1e-8 * expected.max())
    again = part.simulate(np.ones(1001), dt=DT, parameters={"f": 2.0, "zeta": 0.1})
    np.testing.assert_array_equal(run.values, again.values)


def test_ticks_may_begin_with_the_step(tmp_path: Path) -> None:
    part = FmuSubstructure(oscillator_fmu(tmp_path / "o.fmu"))
    ends, starts = part.block(dt=DT), part.block(dt=DT, update="start")
    u = np.sin(np.arange(50))[:, None]
    late = np.vstack([[0.0], u])  # what was an input of this tick is last tick's value
    a = np.array([ends.step(k * DT, row) for k, row in enumerate(u)])
    b = np.array([starts.step(k * DT, row) for k, row in enumerate(late[:-1])])
    np.testing.assert_array_equal(a, b)
    starts.reset()
    np.testing.assert_array_equal(b, [starts.step(k * DT, row) for k, row in enumerate(late[:-1])])


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("model", [network(), network_with_memory()], ids=["static", "memory"])
def test_round_trip_of_our_own_exports(tmp_path: Path, model, version: int) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "brake.fmu"
    file.write_bytes(fmu_file(form_of(model, "brake"), "float64", version)[0])
    part = FmuSubstructure(file)
    assert part.read == "after" and part.direct == {"F_br", "w_rw"}
    rng = np.random.default_rng(3)
    u = np.column_stack([rng.uniform(0, 50, 200), rng.uniform(-5, 49, 200)])
    expected = model.rollout(u) if model.dt else model.predict(u)
    np.testing.assert_allclose(part.simulate(u, dt=DT)["tau_rw"], expected[:, 0], rtol=1e-13)


def test_parameters_are_uncertain_inputs_of_a_campaign(tmp_path: Path) -> None:
    part = FmuSubstructure(oscillator_fmu(tmp_path / "o.fmu"), outputs=["x"])
    model = SimulationModel(part, dt=DT, duration=0.2, u={"u": 1.0})
    design = lhs(ParameterSpace({"f": Uniform(1.0, 3.0), "zeta": Uniform(0.01, 0.2)}), 6, seed=1)
    data = run_design(model, design, store=tmp_path / "store")
    expected = [step_response(np.array([0.2]), f, zeta)[0] for f, zeta in data.X]
    np.testing.assert_allclose(data.Y[:, 0], expected, rtol=1e-9)


def _pull(u, p, y):  # type: ignore[no-untyped-def]
    y[0] = -30.0 * u[0]


def test_it_stands_in_a_hybrid_model(tmp_path: Path) -> None:
    oscillator = FmuSubstructure(oscillator_fmu(tmp_path / "o.fmu"), outputs=["x", "v"], name="mass")
    spring = StaticSubstructure("spring", _pull, inputs={"x": "m"}, outputs={"pull": "N"})
    hybrid = HybridModel(
        "pulled", [oscillator, spring], dt=DT, couplings={"mass.u": ["push", "spring.pull"]}, excitations={"push": 1.0}
    )
    run = hybrid.run(0.5)
    stiffer = np.sqrt((2 * np.pi) ** 2 + 30.0)
    zeta = 0.02 * 2 * np.pi / stiffer
    expected = step_response(run.time, stiffer / (2 * np.pi), zeta)
    np.testing.assert_allclose(run["x"], expected, atol=0.01 * expected.max())  # the spring answers one tick late


def test_pythonfmu(tmp_path: Path) -> None:
    pytest.importorskip("pythonfmu", reason="pythonfmu is not installed; it builds FMUs for this test")
    from pythonfmu.builder import FmuBuilder

    script = tmp_path / "gain.py"
    script.write_text(
        "from pythonfmu import Fmi2Causality, Fmi2Slave, Real\n"
        "class Gain(Fmi2Slave):\n"
        "    def __init__(self, **kwargs):\n"
        "        super().__init__(**kwargs)\n"
        "        self.u = 0.0\n"
        "        self.y = 0.0\n"
        "        self.register_variable(Real('u', causality=Fmi2Causality.input))\n"
        "        self.register_variable(Real('y', causality=Fmi2Causality.output))\n"
        "    def do_step(self, t, dt):\n"
        "        self.y = 3.0 * self.u\n"
        "        return True\n"
    )
    file = FmuBuilder.build_FMU(str(script), dest=str(tmp_path))
    with pytest.raises(ConfigError, match=r"needs PythonFMU .* at run time \(needsExecutionTool\)"):
        FmuSubstructure(file)
    run = FmuSubstructure(file, read="after", tool=True).simulate(np.arange(5.0), dt=DT)
    np.testing.assert_array_equal(run["y"], 3.0 * np.arange(5.0))


def test_a_step_that_the_fmu_discards_ends_the_run_with_its_words(tmp_path: Path) -> None:
    part = FmuSubstructure(oscillator_fmu(tmp_path / "o.fmu"))
    u = np.ones(20)
    u[10] = 1e7
    with pytest.raises(Tripped, match=r"tick 10 .* block 'model' could not step: the FMU discarded the step"):
        part.simulate(u, dt=DT)


def test_paced_only_on_the_users_word(tmp_path: Path) -> None:
    file = oscillator_fmu(tmp_path / "o.fmu")
    assert not FmuSubstructure(file).block(dt=DT).real_time
    block = FmuSubstructure(file, real_time=True).block(dt=DT)
    assert block.real_time
    times = block.step_times(100)
    assert times.shape == (100,) and (times > 0).all()


def test_one_instance_per_process(tmp_path: Path) -> None:
    part = FmuSubstructure(oscillator_fmu(tmp_path / "o.fmu", attributes='canBeInstantiatedOnlyOncePerProcess="true"'))
    first = part.block(dt=DT)
    with pytest.raises(ConfigError, match="allows one instance per process and there is one already"):
        part.block(dt=DT)
    del first
    part.block(dt=DT)


def test_identity_follows_file_and_choice(tmp_path: Path) -> None:
    one = FmuSubstructure(oscillator_fmu(tmp_path / "a.fmu"))
    other = FmuSubstructure(oscillator_fmu(tmp_path / "b.fmu", root='version="2"'))
    few = FmuSubstructure(tmp_path / "a.fmu", outputs=["x"])
    assert len({part.identity()["code"] for part in (one, other, few)}) == 3


INTEGER = (
    '<ScalarVariable name="n" valueReference="7" causality="output" variability="discrete"><Integer/></ScalarVariable>'
)
ODD = '<ScalarVariable name="a.b" valueReference="1" causality="output"><Real/></ScalarVariable>'
STEP = '<DefaultExperiment stepSize="0.002"/>'


@pytest.mark.parametrize(
    ("fmu", "given", "words"),
    [
        (
            {"platform": "win64"},
            {},
            "must have a binary binaries/linux64/oscillator.so, found none for this platform; ask",
        ),
        ({"platform": "darwin64", "sources": True}, {}, "compile its sources with: fmpy compile"),
        (
            {"attributes": 'needsExecutionTool="true"', "root": 'generationTool="Dymola"'},
            {},
            "needs Dymola at run time",
        ),
        ({"exchange": True, "root": 'numberOfEventIndicators="2"'}, {}, "has 2 event indicators"),
        ({"extra": INTEGER}, {}, "Variable 'n' of FMU 'o.fmu' must be a real number, got Integer"),
        ({"extra": ODD}, {}, r"Variable 'a.b' .* cannot be the name of a port; give outputs = \{'a_name': 'a.b'\}"),
        ({}, {"inputs": ["x"]}, r"Variable 'x' of FMU 'o.fmu' must be one of its inputs \(u\)"),
        ({}, {"outputs": []}, "must have at least one output that is used"),
        ({}, {"read": "never"}, "read of FMU 'o.fmu' must be one of 'before', 'after'"),
        ({}, {"substeps": 0}, "substeps of FMU 'o.fmu' must be a whole number of at least 1"),
    ],
)
def test_what_cannot_be_run_is_refused_in_words(tmp_path: Path, fmu: dict, given: dict, words: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ConfigError, match=words):
        FmuSubstructure(oscillator_fmu(tmp_path / "o.fmu", **fmu), **given)


def test_a_step_that_does_not_divide_is_refused(tmp_path: Path) -> None:
    part = FmuSubstructure(oscillator_fmu(tmp_path / "o.fmu", experiment=STEP))
    with pytest.raises(ConfigError, match=r"must be a whole multiple of 0\.002 s, the fixed step of FMU 'o\.fmu', got"):
        part.block(dt=0.003)
    part.block(dt=0.004)


def test_files_that_are_no_fmus(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        FmuSubstructure(tmp_path / "none.fmu")
    (tmp_path / "text.fmu").write_text("hello")
    with pytest.raises(ConfigError, match="must be a zip file"):
        FmuSubstructure(tmp_path / "text.fmu")
    for name, words in (("../evil", "must be a plain relative path"), ("empty", "modelDescription.xml")):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr(name, "x")
        (tmp_path / "odd.fmu").write_bytes(content.getvalue())
        with pytest.raises(ConfigError, match=words):
            FmuSubstructure(tmp_path / "odd.fmu")


def test_a_file_that_changes_after_it_was_read_is_refused(tmp_path: Path) -> None:
    part = FmuSubstructure(oscillator_fmu(tmp_path / "changing.fmu", root='author="first"'))
    oscillator_fmu(tmp_path / "changing.fmu", root='author="second"')
    with pytest.raises(ConfigError, match="has changed since it was read"):
        part.block(dt=DT)


def test_a_broken_binary_is_a_sentence(tmp_path: Path) -> None:
    file = oscillator_fmu(tmp_path / "o.fmu")
    broken = tmp_path / "broken.fmu"
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(broken, "w") as target:
        target.writestr("modelDescription.xml", source.read("modelDescription.xml"))
        target.writestr("binaries/linux64/oscillator.so", b"not a library")
    with pytest.raises(ConfigError, match="Binary of the FMU cannot be opened"):
        FmuSubstructure(broken).block(dt=DT)
    other = tmp_path / "token.fmu"
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(other, "w") as target:
        text = source.read("modelDescription.xml").replace(b"{oscillator}", b"{other}")
        target.writestr("modelDescription.xml", text)
        target.writestr("binaries/linux64/oscillator.so", source.read("binaries/linux64/oscillator.so"))
    with pytest.raises(ConfigError, match="The FMU cannot be instantiated"):
        FmuSubstructure(other).block(dt=DT)
