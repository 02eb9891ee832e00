"""Sobol' indices beside SALib and openturns, coverage of the intervals, screening, copulas beside chaospy, in one run.

Points are those of n base points of eight inputs; times are seconds of the processor on one thread. The settings
(estimator by the size of the total index, eight scramblings) were chosen on Ishigami, the short column and a G function
of eight inputs, seeds 0 to 99 of 2^11 points; the coverage here is of other seeds, and of a G function of three inputs.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from mor import Dataset, Normal, ParameterSpace, short_column, sobol_g
from mor.uncertainty import Clayton, Gumbel, borgonovo, morris, sobol


def cpu(job: object) -> float:
    start = time.process_time()
    job()  # type: ignore[operator]
    return time.process_time() - start


def salib(power: int) -> dict[str, float]:
    """Analysis of the same function by SALib: seconds, and how much wider its intervals are than its errors."""
    from SALib.analyze.sobol import analyze
    from SALib.sample.sobol import sample

    problem = sobol_g()
    assert problem.total is not None
    names = {"num_vars": 8, "names": list(problem.space.names), "bounds": [[0.0, 1.0]] * 8}
    X = sample(names, 2**power, calc_second_order=False, seed=1)
    y = problem(X)
    found: dict[str, np.ndarray] = {}
    seconds = cpu(lambda: found.update(analyze(names, y, calc_second_order=False, num_resamples=100, seed=1)))
    return {
        f"salib.analyze_2^{power}.cpu_s": seconds,
        "salib.interval_over_error": float(np.median(found["ST_conf"] / np.abs(found["ST"] - problem.total))),
    }


def openturns(power: int) -> dict[str, float]:
    """Jansen's indices of the same function by openturns, without intervals."""
    import openturns as ot

    problem = sobol_g()
    assert problem.total is not None
    law = ot.JointDistribution([ot.Uniform(0.0, 1.0)] * 8)
    X = ot.SobolIndicesExperiment(law, 2**power, False).generate()
    Y = ot.Sample(problem(np.asarray(X))[:, None])
    algorithm = ot.JansenSensitivityAlgorithm(X, Y, 2**power)
    algorithm.setUseAsymptoticDistribution(True)
    total: list[float] = []
    seconds = cpu(lambda: (algorithm.getFirstOrderIndices(), total.extend(algorithm.getTotalOrderIndices())))
    return {
        f"openturns.analyze_2^{power}.cpu_s": seconds,
        "openturns.largest_error_total": float(np.abs(np.array(total) - problem.total).max()),
    }


def gaussian_delta(r: float) -> float:
    """Borgonovo's delta of an input with correlation r to a normal output: mean of half |f(y) - f(y given x)|."""
    x, y = np.linspace(-6, 6, 401), np.linspace(-9, 9, 4001)
    there = np.exp(-0.5 * ((y - r * x[:, None]) ** 2) / (1 - r * r)) / np.sqrt(2 * np.pi * (1 - r * r))
    gap = np.abs(there - np.exp(-0.5 * y * y) / np.sqrt(2 * np.pi)).sum(axis=1) * (y[1] - y[0])
    return float(0.5 * gap @ np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi) * (x[1] - x[0]))


def screening(seeds: range) -> dict[str, float]:
    """Elementary effects and delta beside SALib's: seconds, and the error of delta of a linear Gaussian model."""
    there = importlib.util.find_spec("SALib") is not None
    c = np.array([0.8, 0.5, np.sqrt(0.11), 0.0])
    exact = np.array([gaussian_delta(r) for r in c[:3]] + [0.0])
    names = {"num_vars": 4, "names": list("abcd"), "bounds": [[-4.0, 4.0]] * 4}
    space, errors, seconds = ParameterSpace({name: Normal(0, 1) for name in "abcd"}), {}, {}
    for seed in seeds:
        X = space.sample(2000, seed=seed)
        data = Dataset(X, X @ c, space.ports, {"y": ""})
        jobs: dict[str, Callable[[], np.ndarray]] = {"ours": lambda d=data: borgonovo(d).value[0]}
        if there:
            from SALib.analyze import delta

            def salib_delta(d: Dataset = data) -> np.ndarray:
                found = delta.analyze(names, d.X, d.Y[:, 0], seed=1)
                kinds = [np.asarray(found[key]) for key in ("delta", "delta_balanced", "delta_raw", "delta_step")
                         if key in found]  # fmt: skip
                return min(kinds, key=lambda value: float(np.abs(value - exact).max()))  # the best of its estimators

            jobs["salib"] = salib_delta
        for who, job in jobs.items():
            found: list[np.ndarray] = []
            seconds[who] = cpu(lambda job=job, found=found: found.append(job()))
            errors.setdefault(who, []).append(np.abs(found[0] - exact).max())
    results = {f"delta.{who}.largest_error": float(np.median(e)) for who, e in errors.items()}
    results |= {f"delta.{who}.cpu_s": value for who, value in seconds.items()}
    problem = sobol_g()
    results["morris.ours_cpu_s"] = cpu(lambda: morris(problem, problem.space, trajectories=1000))
    if there:
        from SALib.analyze import morris as effects
        from SALib.sample import morris as paths

        cube = {"num_vars": 8, "names": list(problem.space.names), "bounds": [[0.0, 1.0]] * 8}

        def theirs() -> None:
            X = paths.sample(cube, 1000, num_levels=8, seed=1)
            effects.analyze(cube, X, problem(X), num_levels=8, seed=1)

        results["morris.salib_cpu_s"] = cpu(theirs)
    return results


def run(quick: bool) -> dict[str, object]:
    results: dict[str, object] = {}
    problem = sobol_g()
    assert problem.first is not None and problem.total is not None
    power = 14 if quick else 17
    with threadpool_limits(1):
        sobol(problem, problem.space, n=64)
        seconds = min(cpu(lambda k=k: sobol(problem, problem.space, n=2**power, seed=k)) for k in range(3))
        X = problem.space.sample(2**power // 8, seed=0)
        model = min(cpu(lambda: [problem(X) for _ in range(80)]) for _ in range(3))
        found = sobol(problem, problem.space, n=2**power, seed=7)
        assert found.first is not None and found.total is not None
        wrong = np.abs(found.total.value - problem.total)
        results |= {
            f"ours_2^{power}.cpu_s": seconds, f"ours_2^{power}.of_which_model_cpu_s": model,
            "ours.largest_error_first": float(np.abs(found.first.value - problem.first).max()),
            "ours.largest_error_total": float(wrong.max()),
            "ours.interval_over_error": float(np.median(found.total.half_width / wrong)),
            "goal.cpu_s": 0.15,
        }  # fmt: skip
        if importlib.util.find_spec("SALib"):
            results |= salib(10 if quick else 17)
        else:
            results["salib"] = "left out: SALib is not installed (extra bench)"
        if importlib.util.find_spec("openturns"):
            results |= openturns(10 if quick else 17)
        results |= screening(range(2 if quick else 10))
        for case in (short_column(), sobol_g((1, 3, 9))):
            inside = []
            for seed in range(1000, 1020 if quick else 1200):
                one = sobol(case, case.space, n=2**10, seed=seed)
                for estimate, exact in ((one.first, case.first), (one.total, case.total)):
                    assert estimate is not None
                    inside.append(np.abs(estimate.value[0] - exact) <= estimate.half_width[0])
            results[f"coverage.{case.name}"] = float(np.mean(inside))
        V = np.random.default_rng(0).random((10_000, 2))
        results["copula.clayton.ours_cpu_s"] = cpu(lambda: Clayton(2.0).dependent(V))
        results["copula.gumbel.ours_cpu_s"] = cpu(lambda: Gumbel(2.0).dependent(V))
        if importlib.util.find_spec("chaospy"):
            import chaospy

            joint = chaospy.J(chaospy.Uniform(), chaospy.Uniform())
            results["copula.clayton.chaospy_cpu_s"] = cpu(lambda: chaospy.Clayton(joint, 2.0).inv(V[:1000].T)) * 10
        else:
            results["copula.chaospy"] = "left out: chaospy is not installed (extra chaospy)"
    return results
