"""Laws of frames, integrators and excitations for any numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from mor.dynamics.integrators import generalized_alpha, newmark
from mor.dynamics.stability import critical_delay
from mor.dynamics.structure import LinearStructure
from mor.excitation import Excitation, pulse_velocity
from mor.models.frame import plane_frame
from mor.validation.tracking import tracking

positive = st.floats(0.1, 10.0)


@st.composite
def frames(draw: st.DrawFn) -> LinearStructure:
    storeys = draw(st.integers(1, 5))
    each = st.lists(positive, min_size=storeys, max_size=storeys)
    return plane_frame(
        storeys=storeys,
        bays=draw(st.integers(1, 4)),
        floor_mass=draw(each),
        column_length=draw(each),
        beam_length=draw(positive),
        column_inertia=draw(each),
        beam_inertia=draw(each),
        modulus=draw(positive),
        damping_ratio=draw(st.floats(0.0, 0.2)),
        base=draw(st.sampled_from(["pinned", "fixed"])),
    )


@given(frames())
def test_a_frame_is_symmetric_stiff_and_damped_as_asked(frame: LinearStructure) -> None:
    np.testing.assert_array_equal(frame.K, frame.K.T)
    modes = frame.modes()
    assert modes.frequencies[0] > 0
    np.testing.assert_allclose(modes.ratios, modes.ratios[0], atol=1e-7)
    assert np.linalg.eigvals(frame.state_matrix()).real.max() <= 1e-6 * modes.frequencies[-1]


@given(frames(), st.floats(0.0, 1.0), st.floats(0.01, 100.0))
def test_generalized_alpha_never_gains_energy_it_was_not_given(frame: LinearStructure, rho: float, size: float) -> None:
    """Whatever the step, free motion stays bounded."""
    dt = size / (2 * np.pi * frame.modes().frequencies[-1])
    start = np.ones(frame.n), np.zeros(frame.n)
    motion = generalized_alpha(frame, None, dt=dt, steps=300, rho_inf=rho, initial=start)
    assert np.abs(motion.x[150:]).max() <= 3 * np.abs(motion.x[:150]).max() + 1e-9


@given(frames(), st.floats(0.01, 5.0))
def test_average_acceleration_keeps_the_energy_of_any_undamped_frame(frame: LinearStructure, size: float) -> None:
    free = LinearStructure(frame.M, np.zeros_like(frame.C), frame.K)
    dt = size / (2 * np.pi * frame.modes().frequencies[-1])
    motion = newmark(free, None, dt=dt, steps=100, initial=(np.ones(frame.n), -np.ones(frame.n)))
    energy = free.energy(motion.x, motion.v)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-6)


@given(k=st.floats(1.0, 100.0), c=st.floats(0.05, 5.0), share=st.floats(0.1, 0.9))
def test_more_damping_bears_more_delay(k: float, c: float, share: float) -> None:
    def limit(damping: float) -> float:
        rest = LinearStructure([[1.0]], [[damping]], [[(1 - share) * k]])
        return critical_delay(rest, dof=0, mass=0.0, damping=0.0, stiffness=share * k)

    low, high = limit(c), limit(1.3 * c)
    assume(np.isfinite(high))
    assert 0 < low < high


@given(st.floats(0.2, 5.0), st.floats(0.2, 3.0), st.floats(1.1, 4.0), st.floats(-3.0, 3.0))
def test_a_pulse_brings_the_ground_back(peak: float, period: float, cycles: float, phase: float) -> None:
    t = np.linspace(0, cycles * period, 4001)
    v = pulse_velocity(t, peak_velocity=peak, period=period, cycles=cycles, phase=phase)
    assert abs(np.trapezoid(v, t)) < 1e-6 * peak * period


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=40), st.floats(0.01, 1.0), st.floats(1.0, 7.0))
def test_resampling_up_never_leaves_the_range_of_the_record(values: list[float], dt: float, factor: float) -> None:
    record = Excitation(values, dt)
    fine = record.resampled(factor / dt)
    assert record.values.min() <= fine.values.min() and fine.values.max() <= record.values.max()
    assert fine.duration <= record.duration * (1 + 1e-9)


@given(st.floats(0.1, 1e4), st.integers(0, 30))
def test_tracking_does_not_depend_on_units(scale: float, shift: int) -> None:
    rng = np.random.default_rng(0)
    target = np.convolve(rng.standard_normal(600), np.hanning(40), "same")
    measured = np.roll(target, shift) + 0.01 * rng.standard_normal(600)
    one, two = tracking(measured, target, 1000.0), tracking(scale * measured, scale * target, 1000.0)
    np.testing.assert_allclose([one.J1, one.J2, one.J3], [two.J1, two.J2, two.J3], rtol=1e-6, atol=1e-6)
