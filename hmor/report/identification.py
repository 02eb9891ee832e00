"""The page of an identified actuator: response with confidence, poles, fit against noise, and its uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hmor.report.figures import COLOURS, GREY, panels
from hmor.report.page import Page
from mor.identification import Fit
from rt_runtime.files import replacing


def bode(fit: Fit) -> Figure:
    """Draw size and phase of response and model, with 95 % of the confidence of the response, and the coherence."""
    f, H, model = fit.frf.frequency, fit.frf.H, fit.model.response(fit.frf.frequency)
    spread = 1.96 * np.sqrt(fit.frf.variance)
    figure, axes = panels(3, 1, 8.0, 2.3, sharex=True, height_ratios=(3, 3, 1.4))
    size, phase, coherence = axes[:, 0]
    size.fill_between(f, np.maximum(np.abs(H) - spread, 1e-9), np.abs(H) + spread, color=COLOURS[0], alpha=0.3, lw=0)
    size.semilogx(f, np.abs(H), ".", color=COLOURS[0], ms=3, label="record")
    size.semilogx(f, np.abs(model), color=COLOURS[1], label="model")
    size.set_yscale("log")
    size.set_ylabel("|H|")
    size.legend(frameon=False)
    phase.semilogx(f, np.degrees(np.unwrap(np.angle(H))), ".", color=COLOURS[0], ms=3)
    phase.semilogx(f, np.degrees(np.unwrap(np.angle(model))), color=COLOURS[1])
    phase.set_ylabel("phase (deg)")
    coherence.semilogx(f, fit.frf.coherence, color=GREY)
    coherence.set_ylim(0, 1.05)
    coherence.set_ylabel("coherence")
    coherence.set_xlabel("frequency (Hz)")
    return figure


def errors(fit: Fit) -> Figure:
    """Draw the error of each stage beside the noise of the response."""
    f, H = fit.frf.frequency, fit.frf.H
    figure, axes = panels(1, 1, 8.0, 3.0)
    ax = axes[0, 0]
    ax.loglog(f, 100 * np.sqrt(fit.frf.variance) / np.abs(H), color=GREY, lw=1, label="noise of the response")
    for colour, (name, model) in zip(COLOURS, fit.stages.items(), strict=False):
        ax.loglog(f, 100 * np.abs(model.response(f) - H) / np.abs(H), color=colour, lw=1, label=name)
    ax.set_xlabel("frequency (Hz)")
    ax.set_ylabel("error (%)")
    ax.legend(frameon=False)
    return figure


def write_page(path: Path, name: str, found: dict[str, Any], fit: Fit) -> Path:
    """Write the page; it appears whole or not at all."""
    lead = f"{found['output']} over {found['input']}, {found['rate_hz']:.6g} samples per second"
    page = Page(f"Identified: {name}", lead)
    page.facts(
        [
            (f"{found['static_gain']:.4g}", "static gain"),
            (f"{found['delay_ms']:.1f} ms", "delay at low frequency"),
            (f"{found['error_percent']:.2g} %", "largest error of a line"),
            (f"{found['noise_floor_percent']:.2g} %", "noise of a line (median)"),
        ]
    )
    page.figure(bode(fit), "Response of the record with 95 % confidence, model, and coherence")
    page.figure(errors(fit), "Error of each stage of the fit against the noise of the response")
    page.heading("Poles")
    rows = [
        [
            f"{abs(complex(*pole)):.3f}",
            f"{-pole[0] / max(abs(complex(*pole)), 1e-12):.3f}",
            f"{pole[0]:.3f}",
            f"{pole[1]:+.3f}",
        ]
        for pole in found["poles_hz"]
    ]
    page.table(["frequency (Hz)", "damping ratio", "real (Hz)", "imaginary (Hz)"], rows)
    page.heading("What the model can be used for")
    if fit.problems:
        page.text("Nothing: the model must not reach a loop.")
    else:
        page.text(
            "Prediction (predictive control, simulation): yes, within the band of the fit. Inverse (feedforward, "
            f"model-based compensation): {'yes' if fit.invertible else 'no'}."
        )
    for note in (*fit.problems, *found["notes"]):
        page.text(note, note=True)
    with replacing(path) as temporary:
        temporary.write_text(str(page), encoding="utf-8")
    return path
