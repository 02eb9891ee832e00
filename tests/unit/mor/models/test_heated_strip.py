"""The heated strip: against an independent integration, its buckling load, noise and drift."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mor.models import heated_strip as hs

SAMPLE = {"K_1": 224.454, "K_2": 118.235, "F_max": 48.0, "T": 0.618, "theta_max": 116.73}


def twin(p: dict[str, float]) -> float:
    """Largest deflection in m, the equations written again and integrated as one system."""
    L, EI, EA = 0.47, 69.5e9 * 0.2 * 0.002**3 / 12.0, 69.5e9 * 0.2 * 0.002
    a0, c, J = 3e-3, 20.0, 10.0

    def parts(t: float, x: np.ndarray) -> tuple[float, float, float, float]:
        t1, t2, u, a = x[0], x[1], x[2], x[6]
        heat = max(0.0, min(21.5 * t, p["theta_max"]) - 30.0)
        e = u / L + (2 * t1**2 - t1 * t2 + 2 * t2**2) / 30 + np.pi**2 * (a**2 - a0**2) / (4 * L**2)
        N = EA * (e + a * (t1 - t2) / (2 * L) - 23e-6 * heat)
        r1 = EI / L * (4 * t1 + 2 * t2) + N * L * ((4 * t1 - t2) / 30 + a / (2 * L))
        r2 = EI / L * (4 * t2 + 2 * t1) + N * L * ((4 * t2 - t1) / 30 - a / (2 * L))
        g = 2 * EI * np.pi**4 / L**3 * (a - a0) + N * L * (np.pi**2 * a / (2 * L**2) + (t1 - t2) / (2 * L))
        return r1, r2, N, g

    def rhs(t: float, x: np.ndarray) -> list[float]:
        r1, r2, N, g = parts(t, x)
        s = t - 0.1
        F = p["F_max"] * np.sin(2 * np.pi * s / p["T"]) if 0.0 <= s <= p["T"] / 2 else 0.0
        return [x[3], x[4], x[5], (-r1 - p["K_1"] * x[0] - c * x[3]) / J, (F - r2 - p["K_2"] * x[1] - c * x[4]) / J,
                (-N - 8.1e6 * x[2] - 1.129e6 * x[5]) / 5000.0, -g / 500.0]  # fmt: skip

    x, largest = np.array([0.0] * 6 + [a0]), 0.0
    kinks = (0.0, 0.1, 0.1 + p["T"] / 2, 30.0 / 21.5, p["theta_max"] / 21.5, 8.0)
    for start, end in pairwise(kinks):
        t = np.linspace(start, end, 400)
        states = solve_ivp(rhs, (start, end), x, t_eval=t, method="LSODA", rtol=1e-5, atol=1e-9).y
        largest = max(largest, float(np.abs((states[0] - states[1]) * L / 8.0 + states[6] - a0).max()))
        x = states[:, -1]
    return largest


def test_deflection_is_that_of_an_independent_integration() -> None:
    run = hs.heated_strip().run(parameters=SAMPLE)
    assert np.abs(run["deflection"]).max() == pytest.approx(twin(SAMPLE), rel=5e-4)
    assert 4.0 * np.pi**2 * hs.EI / hs.LENGTH**2 == pytest.approx(1656.0, rel=1e-3)  # it is heated far past buckling
    assert -run["N"].min() < 1656.0


def test_printed_pulse_is_an_option() -> None:
    model = hs.heated_strip(noise=False, drift=False)
    runs = [np.abs(model.run(parameters=SAMPLE | {"printed_pulse": v})["t2"]).max() for v in (0.0, 1.0)]
    assert abs(runs[0] / runs[1] - 1.0) > 0.003


def test_noise_and_drift() -> None:
    model = hs.heated_strip()
    space = model.latent.space
    assert space is not None and space.names == ("T_0", "eta", "a0", "slip", "m_0", "deflection", "zero")
    peaks = [np.abs(model.run(parameters=SAMPLE, seed=s)["deflection_measured"]).max() for s in range(60)]
    assert 0.13e-3 < np.std(peaks) < 0.27e-3
    late = model.run(parameters=SAMPLE | {"deflection_drift": 3e-3, "zero_drift": 3e-3})
    assert late["zero_measured"][0] == pytest.approx(3e-3)
    assert late["deflection_measured"].max() - model.run(parameters=SAMPLE)["deflection"].max() == pytest.approx(3e-3)
