"""Accuracy and speed of Kriging and PC-Kriging beside other packages, on the same rows, in one run.

Relative error (mean square over variance) on points never seen, median over five designs; fit times are seconds of the
processor on one thread. Branin is asked on maximin Latin hypercubes and on plain ones, the others on plain ones. The
settings of `fit_kriging` and `fit_pck` (starts, bounds, nugget, choice by likelihood, sizes of the trend) were chosen
on OTL circuit, wing weight, Friedman, six-hump camel, Franke, Hartmann 3, robot arm and three own functions, seeds 101
to 103, 200 to 202 and 300 to 304, none of which is used here; the limits of the nugget were set with the results of
Branin, Ishigami and borehole in view, so these three are not fully independent. Peers get a Gaussian and a Matern 5/2
kernel, and the
better of the two counts; they see the same standard variables.

`plate_noise`: relative error of three surrogates of 150 noisy tests of the plate strip (noise of 10 % and 30 % of the
spread) against the strip without noise, median over five designs, seeds 0 to 4; how PC-Kriging chooses its trend under
noise was decided on seeds 100 to 102. `active`: tests of the borehole function until the leave-one-out error is 1e-3,
and until the true error is, by active learning beside Latin hypercubes of growing size. `step_us`: one step of an
exported model of 200 rows in the engine.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from mor import Dataset, ReferenceFunction, borehole, fit_kriging, fit_pce, fit_pck, ishigami, lhs
from mor.problems.plate_strip import OUTPUTS, plate_peaks, plate_space
from mor.problems.public import branin, piston
from mor.reduced.base import ReducedModel
from mor.reduced.pce.basis import standard_maps, standardise
from mor.uncertainty import learn

GOALS = {
    ("ishigami", 100): 4e-3, ("ishigami", 200): 4e-5, ("borehole", 100): 3e-5, ("borehole", 200): 1.5e-6,
    ("branin", 20): 1.2e-3, ("branin", 40): 5e-8, ("piston", 200): 9.5e-4,
}  # fmt: skip
PCK_GOALS = {("branin", 20): 1e-8, ("branin", 40): 5e-12}
Predictor = Callable[[np.ndarray], np.ndarray]


def sklearn_fit(kernel: str) -> Callable[[np.ndarray, np.ndarray], Predictor]:
    def fit(Z: np.ndarray, y: np.ndarray) -> Predictor:
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

        start, limits = [1.0] * Z.shape[1], (1e-2, 1e3)
        one = RBF(start, limits) if kernel == "gaussian" else Matern(start, limits, nu=2.5)
        process = GaussianProcessRegressor(
            ConstantKernel(1.0, (1e-3, 1e6)) * one,
            alpha=1e-12,
            normalize_y=True,
            n_restarts_optimizer=4,
            random_state=0,
        )
        return process.fit(Z, y).predict  # type: ignore[no-any-return]

    return fit


def smt_fit(kernel: str) -> Callable[[np.ndarray, np.ndarray], Predictor]:
    def fit(Z: np.ndarray, y: np.ndarray) -> Predictor:
        from smt.surrogate_models import KRG

        corr = "squar_exp" if kernel == "gaussian" else "matern52"
        model = KRG(corr=corr, print_global=False, theta_bounds=[1e-6, 1e2], n_start=10, nugget=1e-13)
        model.set_training_values(Z, y[:, None])
        model.train()
        return lambda X: model.predict_values(X)[:, 0]

    return fit


def openturns_fit(kernel: str) -> Callable[[np.ndarray, np.ndarray], Predictor]:
    def fit(Z: np.ndarray, y: np.ndarray) -> Predictor:
        import openturns as ot

        ot.TBB.Disable()
        d = Z.shape[1]
        one = ot.SquaredExponential([1.0] * d) if kernel == "gaussian" else ot.MaternModel([1.0] * d, 2.5)
        fitter = ot.GaussianProcessFitter(ot.Sample(Z), ot.Sample(y[:, None]), one, ot.ConstantBasisFactory(d).build())
        fitter.setOptimizationBounds(ot.Interval([1e-2] * d, [1e2] * d))
        fitter.run()
        regression = ot.GaussianProcessRegression(fitter.getResult())
        regression.run()
        surrogate = regression.getResult().getMetaModel()
        return lambda X: np.asarray(surrogate(ot.Sample(X)))[:, 0]

    return fit


def peers() -> dict[str, Callable[[str], Callable[[np.ndarray, np.ndarray], Predictor]]]:
    found = {"sklearn": sklearn_fit, "smt": smt_fit, "openturns": openturns_fit}
    return {name: fit for name, fit in found.items() if importlib.util.find_spec(name)}


def data_of(problem: ReferenceFunction, n: int, seed: int, criterion: str | None) -> Dataset:
    X = lhs(problem.space, n, seed=seed, criterion=criterion).points
    return Dataset(X, problem(X), problem.space.ports, [problem.output])


def plate_noise(seeds: range, points: int) -> dict[str, float]:
    """Errors of noisy tests against the truth: {share.surrogate.output: median}."""
    space = plate_space()

    def peaks(X: np.ndarray) -> np.ndarray:
        return np.array([list(plate_peaks(*x).values()) for x in X.tolist()])

    new = space.sample(points, seed=77)
    truth = peaks(new)
    fits: dict[str, Callable[..., ReducedModel]] = {"fit_pce": fit_pce, "fit_kriging": fit_kriging, "fit_pck": fit_pck}
    found: dict[str, list[float]] = {}
    for seed in seeds:
        X = lhs(space, 150, seed=seed).points
        Y = peaks(X)
        for share, goal in ((0.1, 0.008), (0.3, 0.025)):
            noise = share * truth.std(axis=0) * np.random.default_rng([seed, int(100 * share)]).standard_normal(Y.shape)
            data = Dataset(X, Y + noise, space.ports, OUTPUTS)
            for label, fit in fits.items():
                error = np.mean((fit(data, space).predict(new) - truth) ** 2, axis=0) / truth.var(axis=0)
                for output, value in zip(OUTPUTS, error.tolist(), strict=True):
                    found.setdefault(f"plate_noise_{share}.{label}.{output}", []).append(value)
            found[f"plate_noise_{share}.goal"] = [goal]
    return {key: float(np.median(values)) for key, values in found.items()}


def active_learning(seeds: range) -> dict[str, float]:
    """Points of the borehole function that error 1e-3 takes: medians over seeds."""
    problem = borehole()
    new = problem.space.sample(5000, seed=77)
    truth = problem(new)

    def error(model: ReducedModel) -> float:
        return float(np.mean((model.predict(new)[:, 0] - truth) ** 2) / truth.var())

    found: dict[str, list[float]] = {}
    for seed in seeds:
        learned = learn(problem, problem.space, {problem.output.name: ""}, until=1e-3, first=16, batch=2, seed=seed)
        found.setdefault("active.points", []).append(len(learned.data))
        found.setdefault("active.true_error", []).append(error(learned.model))
        reached: dict[str, int] = {}
        for n in range(16, 121, 4):
            model = fit_kriging(problem.dataset(n, seed=seed), problem.space)
            for key, value in (("loo", float(model.loo[0])), ("true_error", error(model))):
                if value <= 1e-3:
                    reached.setdefault(key, n)
            if len(reached) == 2:
                break
        for key in ("loo", "true_error"):
            found.setdefault(f"active.lhs_points_by_{key}", []).append(reached.get(key, 120))
    return {key: float(np.median(values)) for key, values in found.items()} | {"active.goal_share": 0.6}


def step_us() -> float:
    """One step of an exported Kriging model of 200 rows and eight inputs in the engine, in microseconds."""
    import tempfile

    from export import write
    from rt_runtime import load_bundle

    problem = borehole()
    model = fit_kriging(
        problem.dataset(200, seed=0), problem.space, kernel="gaussian", interactions=False, rounding=1e-8
    )
    with tempfile.TemporaryDirectory() as folder:
        write({"borehole": model}, f"{folder}/bundle", targets=("onnx",))
        rom = load_bundle(f"{folder}/bundle").block()
        X = problem.space.sample(2000, seed=3)
        rom.predict(X)
        best = np.inf
        for _ in range(5):
            start = time.perf_counter()
            rom.predict(X)
            best = min(best, time.perf_counter() - start)
    return 1e6 * best / len(X)


def run(quick: bool) -> dict[str, object]:
    results: dict[str, object] = {}
    seeds = range(2) if quick else range(5)
    cases = [(ishigami(), 100), (ishigami(), 200), (borehole(), 100), (borehole(), 200), (branin(), 20), (branin(), 40),
             (piston(), 200)]  # fmt: skip
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit_kriging(data_of(branin(), 12, 0, None), branin().space)
        for problem, n in cases:
            new = problem.space.sample(10_000 if quick else 100_000, seed=77)
            truth = problem(new)
            for criterion in ("maximin", None) if problem.name == "branin" else (None,):
                name = f"{problem.name}_{n}" + ("" if problem.name != "branin" else f".{criterion or 'plain'}")
                fits: dict[str, Callable[[Dataset], Predictor]] = {
                    "fit_kriging": lambda d, p=problem: fit_kriging(d, p.space).predict,
                }
                if problem.name == "branin" or not quick:
                    fits["fit_pck"] = lambda d, p=problem: fit_pck(d, p.space).predict
                for label, fit in fits.items():
                    errors, seconds = [], []
                    for seed in seeds:
                        d = data_of(problem, n, seed, criterion)
                        start = time.process_time()
                        predict = fit(d)
                        seconds.append(time.process_time() - start)
                        errors.append(np.mean((predict(new)[:, 0] - truth) ** 2) / truth.var())
                    results[f"{name}.{label}.error"] = float(np.median(errors))
                    results[f"{name}.{label}.fit_cpu_s"] = float(np.median(seconds))
                for peer, make in {} if quick else peers().items():
                    medians = []
                    for kernel in ("gaussian", "matern52"):
                        errors = []
                        for seed in seeds:
                            d = data_of(problem, n, seed, criterion)
                            maps = standard_maps(problem.space.marginals)
                            predict = make(kernel)(standardise(d.X, *maps), d.Y[:, 0])
                            part = slice(0, 10_000)
                            guess = predict(standardise(new[part], *maps))
                            errors.append(np.mean((guess - truth[part]) ** 2) / truth.var())
                        medians.append(float(np.median(errors)))
                    results[f"{name}.{peer}.error"] = min(medians)
                results[f"{name}.goal.error"] = GOALS[problem.name, n]
                if (problem.name, n) in PCK_GOALS:
                    results[f"{name}.goal_pck.error"] = PCK_GOALS[problem.name, n]
        one = data_of(borehole(), 200, 0, None)
        start = time.process_time()
        fit_kriging(one, borehole().space, kernel="matern52", interactions=False, noise="none")
        results["one_kernel_200_8.fit_cpu_s"] = time.process_time() - start
        start = time.process_time()
        fit_pck(one, borehole().space)
        results["pck_200_8.fit_cpu_s"], results["goal.pck_cpu_s"] = time.process_time() - start, 2.5
        results |= plate_noise(seeds, 500 if quick else 1500)
        results |= active_learning(range(1) if quick else range(3))
        results["step_us"], results["goal.step_us"] = step_us(), 3.0
        results["goal.one_kernel_cpu_s"], results["goal.all_kernels_cpu_s"] = 0.4, 1.0
    for package in ("sklearn", "smt", "openturns"):
        if not importlib.util.find_spec(package):
            results[package] = "left out: not installed (extra bench)"
    return results
