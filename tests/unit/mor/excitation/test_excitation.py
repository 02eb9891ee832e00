"""Excitations: scaling and resampling, spectra, pulses, waveforms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, signal

from mor.excitation import (
    Excitation,
    band_limited_noise,
    multi_sine,
    near_fault_pulse,
    pulse_acceleration,
    pulse_velocity,
    ramps_and_holds,
    sine_sweep,
    synthetic_ground_motion,
)
from mor.excitation.ground import envelope, ground_spectrum
from rt_runtime import Loop
from rt_runtime.errors import ConfigError


def test_scaling_padding_and_the_block() -> None:
    record = Excitation([0.0, 1.0, -2.0, 1.0], 0.5)
    assert record.duration == 1.5 and record.peak == 2.0
    np.testing.assert_array_equal(record.scaled(0.4).values, [0.0, 0.4, -0.8, 0.4])
    assert record.scaled_to_peak(3.0).peak == 3.0
    np.testing.assert_array_equal(record.padded(0.5, 1.0).values, [0, 0, 1, -2, 1, 0, 0])
    loop = Loop(4.0)
    loop.signal("a", unit="m/s2")
    loop.add("record", record.block(), outputs=["a"])
    np.testing.assert_allclose(loop.run(2.0)["a"], [0.0, 0.5, 1.0, -0.5, -2.0, -0.5, 1.0, 1.0])


def test_resampling_up_is_linear_and_down_does_not_alias() -> None:
    record = Excitation([0.0, 1.0, -2.0, 1.0], 0.02)
    fine = record.resampled(100.0)
    np.testing.assert_allclose(fine.values, [0, 0.5, 1, -0.5, -2, -0.5, 1])
    t = np.arange(4000) / 1000
    mixed = Excitation(np.sin(2 * np.pi * 2 * t) + np.sin(2 * np.pi * 97 * t), 1e-3).resampled(100.0)
    inner = slice(50, -50)  # 97 Hz would fold onto 3 Hz
    np.testing.assert_allclose(mixed.values[inner], np.sin(2 * np.pi * 2 * mixed.time)[inner], atol=2e-3)


def test_baseline_names_the_drift_and_correction_removes_it() -> None:
    t = np.arange(2001) / 100
    clean = np.sin(2 * np.pi * t) * np.sin(np.pi * t / 20) ** 2
    shifted = Excitation(clean + 0.01 + 0.002 * t, 0.01)
    before, after = shifted.baseline(), shifted.baseline_corrected(1).baseline()
    assert before.final_velocity == pytest.approx(0.01 * 20 + 0.001 * 400, rel=0.02)
    assert before.drift == pytest.approx(1.0, abs=0.05)
    assert abs(after.final_displacement) < 0.02 * abs(before.final_displacement)
    assert abs(after.final_velocity) < 0.02 * abs(before.final_velocity)


@pytest.mark.parametrize("kind", ["kanai_tajimi", "clough_penzien"])
def test_synthetic_motion_has_the_spectrum_it_claims(kind: str) -> None:
    motion = synthetic_ground_motion(seed=1, duration=4000.0, rate=50.0, rise=0.0, hold=5000.0, kind=kind)
    f, density = signal.welch(motion.values, 50.0, nperseg=1024)
    shape = ground_spectrum(f, kind=kind)
    band = (f > 0.1) & (f < 20)
    ratio = density[band] / shape[band]
    assert np.abs(ratio / np.median(ratio) - 1).mean() < 0.08
    smooth = np.convolve(ratio, np.ones(20) / 20, "valid")
    np.testing.assert_allclose(smooth / np.median(ratio), 1.0, atol=0.15)


def test_clough_penzien_has_nothing_at_zero_and_kanai_tajimi_one() -> None:
    assert ground_spectrum([0.0])[0] == 0.0
    assert ground_spectrum([0.0], kind="kanai_tajimi")[0] == 1.0
    at_peak = ground_spectrum([2.5], ground_damping=0.3, kind="kanai_tajimi")[0]
    assert at_peak == pytest.approx((1 + 4 * 0.09) / (4 * 0.09))


def test_synthetic_motion_repeats_by_seed_and_has_its_peak_and_envelope() -> None:
    first, again, other = (synthetic_ground_motion(seed=s) for s in (7, 7, 8))
    np.testing.assert_array_equal(first.values, again.values)
    assert np.abs(first.values - other.values).max() > 0.5
    assert first.peak == pytest.approx(3.135) and first.values[-1] == 0.0
    np.testing.assert_allclose(envelope([0.0, 1.0, 2.0, 10.0, 12.0], rise=2, hold=8, decay=0.25),
                               [0, 0.25, 1, 1, np.exp(-0.5)])  # fmt: skip
    ends = np.abs(first.values[first.time > 28]).max()
    assert ends < 0.1 * first.peak


@pytest.mark.parametrize("cycles", [2.0, 1.5, 3.3])
def test_pulse_acceleration_is_the_derivative_and_the_ground_comes_back(cycles: float) -> None:
    arguments = dict(peak_velocity=2.0, period=1.25, cycles=cycles, phase=0.1)
    t = np.linspace(1e-4, cycles * 1.25 - 1e-4, 5001)
    h = 1e-6
    numerical = (pulse_velocity(t + h, **arguments) - pulse_velocity(t - h, **arguments)) / (2 * h)
    np.testing.assert_allclose(pulse_acceleration(t, **arguments), numerical, atol=1e-6)
    ends = np.array([0.0, cycles * 1.25])
    np.testing.assert_allclose(pulse_velocity(ends, **arguments), 0.0, atol=1e-12)
    np.testing.assert_allclose(pulse_acceleration(ends, **arguments), 0.0, atol=1e-10)
    fine = np.linspace(0, cycles * 1.25, 20001)
    assert abs(integrate.trapezoid(pulse_velocity(fine, **arguments), fine)) < 1e-8


def test_published_pulse() -> None:
    t = np.linspace(0, 2.5, 250001)
    acceleration = pulse_acceleration(t, peak_velocity=2.0, period=1.25)
    assert np.abs(acceleration).max() == pytest.approx(9.22, abs=0.005)
    pulse = near_fault_pulse(peak_velocity=2.0, period=1.25)
    assert pulse.duration == pytest.approx(6.5) and pulse.peak == pytest.approx(9.22, abs=0.01)
    assert pulse.baseline().drift < 1e-6
    assert pulse_velocity([-0.1, 2.6], peak_velocity=2.0, period=1.25).tolist() == [0.0, 0.0]


def test_sweep_passes_its_frequencies_on_time() -> None:
    for kind, middle in (("linear", 5.5), ("logarithmic", np.sqrt(10.0))):
        sweep = sine_sweep(start=1.0, stop=10.0, duration=40.0, rate=1000.0, kind=kind)
        analytic = np.unwrap(np.angle(signal.hilbert(sweep.values)))
        frequency = np.gradient(analytic, sweep.dt) / (2 * np.pi)
        assert np.median(frequency[19900:20100]) == pytest.approx(middle, rel=0.02)
    faded = sine_sweep(start=1.0, stop=10.0, duration=4.0, rate=1000.0, fade=0.5, amplitude=3.0)
    assert faded.values[0] == faded.values[-1] == 0.0 and 2.9 < faded.peak <= 3.0


def test_band_limited_noise_stays_in_its_band() -> None:
    noise = band_limited_noise(low=2.0, high=5.0, rms=0.3, duration=50.0, rate=100.0, seed=4)
    assert np.sqrt(np.mean(noise.values**2)) == pytest.approx(0.3)
    f = np.fft.rfftfreq(len(noise), noise.dt)
    power = np.abs(np.fft.rfft(noise.values)) ** 2
    outside = (f < 2.0) | (f > 5.0)
    assert power[outside].sum() < 1e-20 * power.sum()


def test_multi_sine_has_its_lines_and_a_low_peak() -> None:
    lines = np.arange(1, 21) * 0.5
    schroeder = multi_sine(frequencies=lines, rms=1.0, duration=20.0, rate=200.0)
    in_phase = np.sin(2 * np.pi * lines * schroeder.time[:, None] + np.pi / 2).sum(axis=1)
    crest = schroeder.peak / 1.0
    assert crest < 2.2 < np.abs(in_phase).max() / np.sqrt(np.mean(in_phase**2))
    amplitude = np.abs(np.fft.rfft(schroeder.values[:-1])) / (len(schroeder) - 1) * 2
    np.testing.assert_allclose(amplitude[10:201:10], amplitude[10], rtol=1e-6)
    assert np.delete(amplitude, np.arange(10, 201, 10)).max() < 1e-10
    one, two = (multi_sine(frequencies=lines, rms=1.0, duration=20.0, rate=200.0, seed=s) for s in (0, 1))
    assert np.abs(one.values - two.values).max() > 0.5


def test_ramps_and_holds() -> None:
    points = [(0.0, 0.0), (1.0, 2.0), (3.0, 2.0), (4.0, -1.0)]
    straight, smooth = ramps_and_holds(points, rate=100.0), ramps_and_holds(points, rate=100.0, smooth=True)
    assert straight.values[50] == pytest.approx(1.0) and smooth.values[50] == pytest.approx(1.0)
    np.testing.assert_allclose(straight.values[100:301], 2.0)
    np.testing.assert_allclose(smooth.values[100:301], 2.0)
    assert np.abs(np.diff(smooth.values, 2)).max() < 0.1 * np.abs(np.diff(straight.values, 2)).max()
    assert smooth.values[-1] == -1.0


PULSE = dict(peak_velocity=1.0, period=1.0)
SWEEP = dict(start=1.0, stop=2.0, duration=1.0, rate=100.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Excitation([1.0], 0.1), "must have at least 2 samples, got 1"),
        (lambda: Excitation([1.0, np.nan], 0.1), r"values of excitation 'excitation' must be finite, got nan at index"),
        (lambda: Excitation([1.0, 2.0], 0.0), "dt of excitation 'excitation' must be a positive number"),
        (lambda: Excitation([0.0, 0.0], 0.1).scaled_to_peak(1.0), "zero throughout"),
        (lambda: Excitation([0.0, 0.0], 0.1).padded(-1.0), "before and after of padded must not be negative"),
        (lambda: Excitation([0.0] * 99, 0.1).resampled(0.05), "must leave 2 samples of 9.8 s, got 0.05 Hz"),
        (lambda: Excitation([0.0, 0.0], 0.1).baseline_corrected(5), "order of baseline_corrected"),
        (lambda: ground_spectrum([1.0], kind="x"), "kind of ground_spectrum must be one of"),
        (lambda: ground_spectrum([1.0], ground_frequency=0.0), "ground_frequency of ground_spectrum must be"),
        (lambda: envelope([0.0], rise=-1.0, hold=1.0, decay=1.0), "rise, hold and decay of envelope"),
        (lambda: synthetic_ground_motion(seed=0, duration=0.001), "must hold at least 3 samples"),
        (lambda: near_fault_pulse(**PULSE, cycles=1.0), "cycles of a near-fault pulse must not be 1"),
        (lambda: near_fault_pulse(peak_velocity=-1.0, period=1.0), "peak_velocity of a near-fault pulse must be a pos"),
        (lambda: sine_sweep(**(SWEEP | {"stop": 50.0})), "must lie below half its rate of 100 Hz, got 50 Hz"),
        (lambda: sine_sweep(**SWEEP, fade=0.6), "fade of sine_sweep must lie between 0 and half the duration"),
        (lambda: band_limited_noise(low=2, high=1, rms=1, duration=1, rate=9, seed=0), "0 <= low < high"),
        (lambda: band_limited_noise(low=1.1, high=1.2, rms=1, duration=1, rate=9, seed=0), "must hold a multiple of"),
        (lambda: multi_sine(frequencies=[1.0, 1.0], rms=1, duration=1, rate=9), "must be positive and differ"),
        (lambda: multi_sine(frequencies=[1.0], amplitudes=[0.0], rms=1, duration=1, rate=9), "must not all be zero"),
        (lambda: ramps_and_holds([(0, 0), (2, 1), (1, 1)], rate=10), "times rising from 0"),
    ],
)
def test_bad_input_is_named(make, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()
