"""Active learning: fewer points than a Latin hypercube, batches that spread, campaigns by hand that resume."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from mor import Dataset, ParameterSpace, Uniform, fit_kriging, lhs
from mor.uncertainty import laboratory, learn, suggest
from mor.uncertainty.stopping import covered_loo
from rt_runtime.errors import ConfigError

SPACE = ParameterSpace({"a": Uniform(0.0, 1.0, unit="m"), "b": Uniform(0.0, 1.0)})
FIT = partial(fit_kriging, kernel="matern52", interactions=False)


def bump(X: np.ndarray) -> np.ndarray:
    return np.exp(-12.0 * ((X[:, 0] - 0.8) ** 2 + (X[:, 1] - 0.2) ** 2)) + 0.1 * X[:, 0]


def test_it_needs_fewer_points_than_a_latin_hypercube() -> None:
    found = learn(bump, SPACE, {"y": "N"}, until=5e-3, batch=2, most=60, fit=FIT, seed=1)
    assert found.reached and found.history[-1][1] <= 5e-3
    n = found.history[-1][0]
    new = SPACE.sample(2000, seed=9)
    error = np.mean((found.model.predict(new)[:, 0] - bump(new)) ** 2) / bump(new).var()
    others = []
    for seed in range(3):
        X = lhs(SPACE, n, seed=seed).points
        model = FIT(Dataset(X, bump(X), SPACE.ports, {"y": "N"}), SPACE)
        others.append(np.mean((model.predict(new)[:, 0] - bump(new)) ** 2) / bump(new).var())
    assert error < np.median(others)


def test_a_batch_spreads() -> None:
    X = lhs(SPACE, 12, seed=0).points
    model = FIT(Dataset(X, bump(X), SPACE.ports, {"y": ""}), SPACE)
    points = suggest(model, SPACE, 4)
    gaps = [np.linalg.norm(p - q) for k, p in enumerate(points) for q in points[:k]]
    assert min(gaps) > 0.05
    np.testing.assert_array_equal(points, suggest(model, SPACE, 4))


def test_a_campaign_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "tests.csv"
    state = laboratory(path, SPACE, {"y": "N"}, until=0.05, first=8, batch=3)
    assert (state.done, state.open, state.reached) == (0, 8, False)
    for _ in range(12):
        lines = path.read_text().splitlines()
        assert lines[0] == "a,b,y" and lines[1] == "input,input,output" and lines[2] == "m,,N"
        filled = lines[:3]
        for line in lines[3:]:
            a, b, y = line.split(",")
            filled.append(f"{a},{b},{y or repr(float(bump(np.array([[float(a), float(b)]]))[0]))}")
        path.write_text("\n".join(filled[:-1] + [lines[-1]]) + "\n")  # the last test is not done yet
        waiting = laboratory(path, SPACE, {"y": "N"}, until=0.05, batch=3)
        assert waiting.open == 1 and waiting.model is None
        path.write_text("\n".join(filled) + "\n")
        state = laboratory(path, SPACE, {"y": "N"}, until=0.05, batch=3)
        assert path.read_text().splitlines()[: len(filled)] == filled  # nothing entered was changed
        if state.reached:
            break
    assert state.reached and state.loo is not None and state.loo <= 0.05 and state.model is not None


def test_wrong_tables_get_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    laboratory(path, SPACE, {"y": "N"}, first=6)
    text = path.read_text()
    path.write_text(text.replace("a,b,y", "a,c,y"))
    with pytest.raises(ConfigError, match="must begin with the line a,b,y"):
        laboratory(path, SPACE, {"y": "N"})
    path.write_text("\n".join(line + "x" if k > 2 else line for k, line in enumerate(text.splitlines())) + "\n")
    with pytest.raises(ConfigError, match=r"Every result in .* must be a number"):
        laboratory(path, SPACE, {"y": "N"})
    for result in ("nan", "1e999", "1.2 N"):
        path.write_text("\n".join(line + result if j == 4 else line for j, line in enumerate(text.splitlines())) + "\n")
        with pytest.raises(ConfigError, match=rf"must be a number, or empty .*, got '{result}' as y of test 2"):
            laboratory(path, SPACE, {"y": "N"})
    path.write_text(text, encoding="utf-8-sig")  # as a spreadsheet saves it
    assert laboratory(path, SPACE, {"y": "N"}).open == 6
    with pytest.raises(ConfigError, match=r"Units in .* must be .*kN, got .*,N"):
        laboratory(path, SPACE, {"y": "kN"})
    path.write_text("\n".join(line + "0" if k > 2 else line for k, line in enumerate(text.splitlines())) + "\n")
    with pytest.raises(ConfigError, match="must vary, got the same y in all 6 tests"):
        laboratory(path, SPACE, {"y": "N"})
    with pytest.raises(ConfigError, match="Outputs of learn must vary, got the same y in all 6 tests"):
        learn(lambda X: np.zeros(len(X)), SPACE, {"y": ""}, first=6)
    with pytest.raises(ConfigError, match="until of learn must be a positive number"):
        learn(bump, SPACE, {"y": ""}, until=0.0)


def test_the_stopping_error_counts_rows_by_the_space_they_speak_for() -> None:
    """A crowd of rows in one corner has little of the space, whatever their residuals; checked against brute force."""
    crowd = SPACE.from_unit(0.02 * np.random.default_rng(3).random((20, SPACE.dimension)))
    X = np.vstack([lhs(SPACE, 20, seed=1).points, crowd])
    y = np.sin(3.0 * SPACE.to_unit(X).sum(axis=1))
    model = fit_kriging(Dataset(X, y, SPACE.ports, {"y": ""}), SPACE, kernel="matern32", estimator="likelihood")
    e = model.loo_residuals()[0][:, 0]
    Z = model._standard(SPACE.sample(20_000, seed=5))
    gaps = ((Z[:, None, :] - model.points) / model.length[0]) ** 2
    share = np.bincount(gaps.sum(axis=2).argmin(axis=1), minlength=len(X)) / len(Z)
    assert share[20:].sum() < 0.1
    assert covered_loo(model, SPACE) == pytest.approx(share @ e**2 / y.var(), rel=0.15)
