"""Transfer function iteration: a table with a frame whose resonances are not those of the model."""

from __future__ import annotations

import numpy as np
import pytest

from mor import TransferFunction
from mor.identification.iteration import iterate_drive
from rt_runtime import ConfigError

RATE, N = 200.0, 8192
BAND = (0.25, 20.0)


def table(first: float = 1.0, second: float = 1.0) -> TransferFunction:
    """Drive to acceleration of a table with a frame on it; resonances and their zeros moved by two factors."""
    a, b = first**2, second**2
    low = TransferFunction([1.0, 0.577, 130.0 * a], [1.0, 0.511, 121.4 * a])
    high = TransferFunction([1.0, 1.609, 1041.0 * b], [1.0, 2.106, 1000.0 * b])
    rest = TransferFunction([1.667, 0.0, 0.0], [1.0, 19.13, 2007.0])
    return low * high * rest


def run(plant: TransferFunction, noise: float = 0.0, seed: int = 0):
    f = np.fft.rfftfreq(N, 1 / RATE)
    H = np.zeros(len(f), complex)
    H[1:] = plant.response(f[1:])
    rng = np.random.default_rng(seed)

    def test(u: np.ndarray) -> np.ndarray:
        y = np.fft.irfft(H * np.fft.rfft(u), N)
        return y + noise * y.std() * rng.standard_normal(N)

    return test


def target() -> np.ndarray:
    rng = np.random.default_rng(3)
    f = np.fft.rfftfreq(N, 1 / RATE)
    inside = (f > 0.5) & (f < 10.0)
    spectrum = np.where(inside, rng.normal(size=len(f)) + 1j * rng.normal(size=len(f)), 0)
    return np.fft.irfft(spectrum, N)


def test_error_of_every_line_shrinks_by_its_factor() -> None:
    model, plant = table(), table(1.01, 0.99)
    found = iterate_drive(run(plant), model, target(), RATE, runs=3, band=BAND, fade=0.0)
    f = np.fft.rfftfreq(N, 1 / RATE)
    inside = (f > 0.5) & (f < 10.0)
    R = np.fft.rfft(target())[inside]
    factor = 1 - plant.response(f[inside]) / model.response(f[inside])
    twin = [np.sqrt(np.sum(np.abs(R * factor**k) ** 2) / np.sum(np.abs(R) ** 2)) for k in (1, 2, 3)]
    assert found.errors == pytest.approx(twin, rel=1e-6)
    assert found.errors[2] < 0.5 * found.errors[0]


def test_a_model_too_far_off_grows_and_the_best_drive_is_kept() -> None:
    plant = table(0.9, 0.9)  # |1 - P_d / P| is 1.02 at 1.81 Hz
    fixed = iterate_drive(run(plant), table(), target(), RATE, runs=12, band=BAND, fade=0.0)
    assert "the error grew" in fixed.ended
    y = run(plant)(fixed.drive)
    assert np.sqrt(np.sum((target() - y) ** 2) / np.sum(target() ** 2)) == pytest.approx(min(fixed.errors))
    estimated = iterate_drive(run(plant), table(), target(), RATE, runs=3, band=BAND, fade=0.0, form="estimated")
    assert estimated.errors[0] == fixed.errors[0] > 0.2
    assert estimated.errors[-1] < 0.01


def test_noise_bounds_what_is_reached() -> None:
    plant = table(1.73 / 1.89, 4.64 / 5.17)
    found = iterate_drive(run(plant, 0.01), table(), target(), RATE, runs=4, band=BAND, fade=0.0, form="estimated")
    assert 0.005 < min(found.errors) < 0.05


def test_drive_stays_within_its_limit() -> None:
    free = iterate_drive(run(table()), table(), target(), RATE, runs=1, band=BAND, fade=0.0)
    most = 0.5 * np.abs(free.drive).max()
    held = iterate_drive(run(table()), table(), target(), RATE, runs=2, band=BAND, fade=0.0, largest=most)
    assert np.abs(held.drive).max() <= most


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"target": np.zeros(100)}, "target of iterate_drive must move"),
        ({"share": 0.0}, "share of iterate_drive must lie above 0 and up to 1"),
        ({"form": "newton"}, "form of iterate_drive must be one of 'fixed', 'estimated'"),
        ({"band": (90.0, 80.0)}, "band of iterate_drive must hold a line of the target"),
        ({"fade": 30.0}, "fade of iterate_drive must lie between 0 and half of the target, got 6000 samples"),
        ({"fade": -1.0}, "fade of iterate_drive must lie between 0 and half of the target"),
        ({"fade": float("nan")}, "fade of iterate_drive must lie between 0 and half of the target"),
        ({"plant": lambda u: u[:10]}, "response of the plant of iterate_drive must have shape"),
    ],
)
def test_refusals(changes: dict, sentence: str) -> None:
    arguments = {"plant": run(table()), "target": target(), "band": BAND} | changes
    with pytest.raises(ConfigError, match=sentence):
        iterate_drive(arguments.pop("plant"), table(), arguments.pop("target"), RATE, runs=1, **arguments)


def test_a_model_that_does_not_answer_in_the_band_moves_nothing() -> None:
    moved: list[np.ndarray] = []
    with pytest.raises(ConfigError, match="model of iterate_drive must answer in the whole band"):
        iterate_drive(moved.append, TransferFunction([1.0, 0.0], [1.0, 10.0]), target(), RATE, runs=1, band=(0.0, 20.0))
    assert not moved


def test_drive_fades_in_and_out_and_tells_what_is_limited() -> None:
    found = iterate_drive(run(table()), table(), target(), RATE, runs=2, band=BAND, fade=2.0)
    free = iterate_drive(run(table()), table(), target(), RATE, runs=1, band=BAND, fade=0.0)
    assert found.limited == 0.0
    assert found.drive[0] == found.drive[-1] == 0.0
    assert np.abs(found.drive[:40]).max() < 0.1 * np.abs(free.drive[:40]).max()
    most = 0.5 * np.abs(free.drive).max()
    held = iterate_drive(run(table()), table(), target(), RATE, runs=1, band=BAND, fade=0.0, largest=most)
    assert held.limited == np.mean(np.abs(free.drive) >= most)
