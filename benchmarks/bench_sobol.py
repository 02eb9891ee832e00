"""Sobol' indices of the G function beside SALib, coverage of the intervals, and copulas beside chaospy, in one run.

Points are those of n base points of eight inputs; times are seconds of the processor on one thread. The settings
(estimator by the size of the total index, eight scramblings) were chosen on Ishigami, the short column and a G function
of eight inputs, seeds 0 to 99 of 2^11 points; the coverage here is of other seeds, and of a G function of three inputs.
"""

from __future__ import annotations

import importlib.util
import time

import numpy as np
from threadpoolctl import threadpool_limits

from mor import short_column, sobol_g
from mor.uncertainty import Clayton, Gumbel, sobol


def cpu(job: object) -> float:
    start = time.process_time()
    job()  # type: ignore[operator]
    return time.process_time() - start


def salib(power: int) -> dict[str, float]:
    from SALib.analyze.sobol import analyze
    from SALib.sample.sobol import sample

    problem = sobol_g()
    names = {"num_vars": 8, "names": list(problem.space.names), "bounds": [[0.0, 1.0]] * 8}
    X = sample(names, 2**power, calc_second_order=False, seed=1)
    y = problem(X)
    seconds = cpu(lambda: analyze(names, y, calc_second_order=False, num_resamples=100, seed=1))
    return {f"salib.analyze_2^{power}.cpu_s": seconds}


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
        results |= {
            f"ours_2^{power}.cpu_s": seconds, f"ours_2^{power}.of_which_model_cpu_s": model,
            "ours.largest_error_first": float(np.abs(found.first.value - problem.first).max()),
            "ours.largest_error_total": float(np.abs(found.total.value - problem.total).max()),
            "goal.cpu_s": 0.15,
        }  # fmt: skip
        if importlib.util.find_spec("SALib"):
            results |= salib(10 if quick else 17)
        else:
            results["salib"] = "left out: SALib is not installed (extra bench)"
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
