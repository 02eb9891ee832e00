"""Identification of actuators: known plants with noise, an oracle for partial fractions, and every refusal."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import butter, lfilter, sosfilt

from mor import TransferFunction
from mor.dynamics.control_design import arx_parameters
from mor.dynamics.tracking_design import parallel
from mor.identification import (
    Fit,
    Frf,
    coupling,
    fit_transfer_function,
    frequency_response,
    orthogonal_multisines,
    response_table,
)
from mor.identification.partial_fractions import vector_fit_poles
from mor.models.multi_axial.loading_box import actuators
from rt_runtime import ConfigError, Gain, Loop

RATE, PERIOD = 1000.0, 8192
BAND = (0.3, 50.0)
# two light resonances, as of a shake table with a frame on it
TABLE = TransferFunction([1.0, 1.609, 1041.0], [1.0, 2.106, 1000.0]) * TransferFunction(
    [1.667 * 2007, 1.667 * 0.577 * 2007 / 4, 1.667 * 130 * 2007], np.polymul([1.0, 0.511, 121.4], [1.0, 19.13, 2007.0])
)


def held_response(plant: TransferFunction, u: np.ndarray) -> np.ndarray:
    """What a plant does to a held command, by its difference equation."""
    a, b = arx_parameters(plant, 1 / RATE)
    return lfilter(np.r_[0.0, b], np.r_[1.0, a], u)


def band_limited(n: int, seed: int) -> np.ndarray:
    u = sosfilt(butter(8, 50 / (RATE / 2), output="sos"), np.random.default_rng(seed).normal(size=n))
    return 2e-3 * u / u.std()


def multisine(periods: int, seed: int) -> np.ndarray:
    lines = np.arange(1, int(52 * PERIOD / RATE))
    spectrum = np.zeros(PERIOD // 2 + 1, complex)
    spectrum[lines] = np.exp(2j * np.pi * np.random.default_rng(seed).uniform(size=len(lines)))
    u = np.fft.irfft(spectrum)
    return np.tile(2e-3 * u / u.std(), periods)


def noisy(y: np.ndarray, share: float, seed: int) -> np.ndarray:
    return y + share * y.std() * np.random.default_rng(seed).normal(size=len(y))


def worst(model: TransferFunction, plant: TransferFunction) -> float:
    f = np.linspace(*BAND, 400)
    return float(np.max(np.abs(model.response(f) / plant.response(f) - 1)))


@pytest.mark.parametrize(("method", "limit"), [("welch", 3e-3), ("periodic", 5e-4)])
def test_twelve_actuators_are_found_with_half_a_percent_of_noise(method: str, limit: float) -> None:
    u = band_limited(16 * PERIOD, 1) if method == "welch" else multisine(16, 1)
    for box in (1, 2):
        for i, plant in enumerate(actuators(box).values()):
            y = noisy(held_response(plant, u), 0.005, 10 * box + i)
            fit = fit_transfer_function(
                frequency_response(u, y, RATE, method=method, window=PERIOD), poles=6, band=BAND
            )
            assert worst(fit.model, plant) < limit
            assert list(fit.stages) == ["least squares", "Sanathanan-Koerner", "Levenberg-Marquardt"]
            assert fit.invertible
            assert not fit.notes


def test_without_the_hold_the_model_is_late_by_half_a_sample() -> None:
    plant = actuators(1)["X1"]
    u = multisine(6, 2)
    y = held_response(plant, u)
    right, late = (
        frequency_response(u, y, RATE, method="periodic", window=PERIOD, hold=hold).band(*BAND)
        for hold in ("zoh", "none")
    )
    assert np.allclose(right.H, plant.response(right.frequency), rtol=1e-3)
    assert 0.13 < np.max(np.abs(late.H / plant.response(late.frequency) - 1)) < 0.17


def test_light_resonances_are_found_with_partial_fractions() -> None:
    f = np.linspace(0.3, 10.0, 600)
    rng = np.random.default_rng(3)
    H = TABLE.response(f)
    sigma = 0.01 * np.abs(H)
    H = H + sigma / np.sqrt(2) * (rng.normal(size=600) + 1j * rng.normal(size=600))
    fit = fit_transfer_function(Frf(f, H, np.ones(600), sigma**2), poles=6, zeros=4)
    found = np.sort(np.abs(fit.model.poles.imag))
    assert np.allclose(found, np.sort(np.abs(TABLE.poles.imag)), rtol=0.02)
    assert np.median(np.abs(fit.model.response(f) / TABLE.response(f) - 1)) < 2e-3


def test_partial_fractions_agree_with_the_oracle() -> None:
    skrf = pytest.importorskip("skrf")
    fitting = pytest.importorskip("skrf.vectorFitting")
    f = np.linspace(0.3, 10.0, 400)
    s = 2j * np.pi * f
    found = vector_fit_poles(s, TABLE.response(f), np.ones(400), 6)
    network = skrf.Network(f=f, s=TABLE.response(f)[:, None, None], z0=50, f_unit="hz")
    oracle = fitting.VectorFitting(network)
    oracle.vector_fit(n_poles_real=0, n_poles_cmplx=3, fit_constant=True, fit_proportional=False)
    expected = np.sort(np.abs(oracle.poles.imag))
    assert np.allclose(np.sort(np.abs(found.imag[found.imag > 0])), expected, rtol=1e-4)
    assert np.allclose(np.sort(np.abs(found)), np.sort(np.abs(TABLE.poles)), rtol=1e-4)


def test_coupling_in_decibel() -> None:
    f, one = np.linspace(1, 20, 50), np.ones(50)
    row = [[Frf(f, one * g + 0j, one, one) for g in gains] for gains in ((1.0, 0.05), (0.2, 2.0))]
    assert np.allclose(coupling(row), [[0.0, 20 * np.log10(0.025)], [20 * np.log10(0.2), 0.0]])
    with pytest.raises(ConfigError, match="must be a square table"):
        coupling([row[0]])


def test_all_axes_at_once_are_told_apart() -> None:
    """Six actuators with a coupling of -20 dB from one record: each model, and the table in dB."""
    plants = list(actuators(1).values())
    G = np.where(np.eye(6, dtype=bool), 1.0, 0.1 * np.random.default_rng(2).choice([-1.0, 1.0], (6, 6)))
    u = orthogonal_multisines(6, RATE, period=PERIOD, periods=16, band=(0.3, 52.0), rms=2e-3, seed=4)
    one = u[:PERIOD]
    assert np.allclose(one.T @ one / PERIOD, 4e-6 * np.eye(6), atol=1e-16)  # orthogonal over a period
    clean = np.column_stack([held_response(plant, uj) for plant, uj in zip(plants, u.T, strict=True)]) @ G.T
    y = np.column_stack([noisy(column, 0.005, 50 + i) for i, column in enumerate(clean.T)])
    table = response_table(u, y, RATE, window=PERIOD)
    for j, plant in enumerate(plants):
        fit = fit_transfer_function(table[j][j], poles=6, band=BAND).check()
        assert worst(fit.model, plant) < 1e-3
    levels = coupling(table, (0.3, 30.0))
    assert np.allclose(levels[~np.eye(6, dtype=bool)], -20.0, atol=0.3)
    assert parallel(plants, G).C.shape == (6, 36)


def test_a_model_that_must_not_reach_a_loop_says_why() -> None:
    f, one = np.linspace(0.5, 20.0, 100), np.ones(100)
    plant = TransferFunction([100.0], [1.0, 14.0, 100.0])
    good = Fit(plant, {}, Frf(f, plant.response(f), one, one), 0.0, 0.0, True)
    assert good.check() is good
    unstable = TransferFunction([100.0], [1.0, -14.0, 100.0])
    bad = Fit(unstable, {}, Frf(f, plant.response(f), 0.2 * one, one), 0.0, 0.0, True)
    with pytest.raises(ConfigError) as refusal:
        bad.check()
    for words in (
        "must be stable, got a pole in the right half plane",
        "must follow its record within 20 %",
        "Coherence",
    ):
        assert words in str(refusal.value)
    loop = Loop(1000.0)
    loop.signal("x")
    loop.add("gain", Gain(np.zeros((1, 0))), outputs=["x"])
    loop.require("Model of X1", lambda: bad.problems)
    with pytest.raises(ConfigError, match="Model of X1: The identified model must be stable"):
        loop.run(0.01)


def test_an_unstable_fit_is_reflected_and_said() -> None:
    f = np.linspace(0.5, 20.0, 200)
    s = 2j * np.pi * f
    H = 100.0 / (s**2 - 2.0 * s + 100.0)
    fit = fit_transfer_function(Frf(f, H, np.ones(200), 1e-6 * np.abs(H) ** 2), poles=2)
    assert fit.model.poles.real.max() < 0
    assert any("reflected" in note for note in fit.notes)


def test_a_zero_in_the_right_half_plane_has_no_inverse() -> None:
    plant = TransferFunction([-1.0, 40.0], [1.0, 20.0, 40.0])
    f = np.linspace(0.3, 20.0, 200)
    H = plant.response(f)
    fit = fit_transfer_function(Frf(f, H, np.ones(200), 1e-8 * np.abs(H) ** 2), poles=2, zeros=1)
    assert not fit.invertible
    assert any("no stable inverse" in note for note in fit.notes)
    assert worst(fit.model, plant) < 1e-3


NOISE = np.random.default_rng(0).normal(size=8000)


def response(u=NOISE, y=NOISE, **changes):
    return lambda: frequency_response(u, y, RATE, **({"window": 1024} | changes))


def weak():
    other = np.random.default_rng(1).normal(size=8000)
    return fit_transfer_function(frequency_response(NOISE, other, RATE, window=1024), poles=2, band=(1, 50))


def half_weak():
    f = np.linspace(1, 50, 100)
    one = np.ones(100) + 0j
    return fit_transfer_function(Frf(f, one, np.where(f < 30, 0.95, 0.2), np.ones(100)), poles=2)


SINES = multisine(4, 5)
FEW = Frf(np.array([1.0, 2.0, 3.0]), np.ones(3) + 0j, np.ones(3), np.ones(3))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (response(window=4096), "must last at least 4 windows of 4096 samples, got 8000"),
        (response(u=np.ones(8000)), "u of frequency_response must move, got the constant 1"),
        (response(u=np.clip(NOISE, -1, 1)), r"u of frequency_response must not be clipped, but \d+ % of its samples"),
        (response(y=NOISE[::2]), "must have one rate and length, got 8000 and 4000 samples"),
        (response(y=np.where(np.arange(8000) == 7, np.nan, NOISE)), "y of frequency_response must be finite, got nan"),
        (response(method="fft"), "method of frequency_response must be one of 'welch', 'periodic'"),
        (
            weak,
            r"Coherence of the response must be at least 0.5 in the band, got less in \d+ % of the lines .median 0\.",
        ),
        (half_weak, r"got less in [3-5]\d % of the lines .median 0\.9\d, from 3\d.* Hz on"),
        (
            lambda: orthogonal_multisines(6, RATE, band=(1, 600), rms=1.0, seed=0),
            "band of orthogonal_multisines must be",
        ),
        (
            lambda: orthogonal_multisines(6, RATE, period=256, band=(1, 50), rms=1.0, seed=0),
            "must have at least 8 lines for each of 6 channels, got 12 lines in all",
        ),
        (
            lambda: response_table(np.column_stack([SINES, SINES]), np.column_stack([SINES, SINES]), RATE),
            "Columns of U of response_table must share no line, but 2 of them have",
        ),
        (lambda: fit_transfer_function(FEW, poles=6), "must be fewer than the lines in the band allow, got 6 poles"),
        (
            lambda: fit_transfer_function(FEW, poles=1, zeros=2),
            "zeros of fit_transfer_function must be at most the poles",
        ),
    ],
)
def test_refusals(make, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        make()
