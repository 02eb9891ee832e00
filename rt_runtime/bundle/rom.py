"""Reduced models of a bundle as blocks: executed by the core, or by onnxruntime for comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from rt_runtime import _core
from rt_runtime.bundle.plan import compile_onnx
from rt_runtime.bundle.read import Bundle, BundleModel, difference, read_bundle
from rt_runtime.checks import Array, finite_array, one_of
from rt_runtime.errors import BundleError, ConfigError
from rt_runtime.summary import Summarised, Summary

ENGINES = ("core", "onnxruntime")


class Rom(_core.Rom):
    """A reduced model as a block of the loop, compiled to a flat plan in double precision.

    Inputs and outputs are those of the bundle, in physical units. `outputs` keeps the first so many outputs: a model
    with memory may put out states of its memory behind them. With `watch` one more output counts the inputs outside
    the model's domain. A model with memory keeps its state and runs every `dt` of the bundle.
    """

    def __init__(self, model: BundleModel, *, watch: bool = False, outputs: int | None = None) -> None:
        what = f"Model '{model.name}'"
        if outputs is not None and not 1 <= outputs <= len(model.outputs):
            raise ConfigError(f"outputs of {what} must lie between 1 and {len(model.outputs)}, got {outputs}.")
        plan, n_u, n_state = compile_onnx(model.onnx, what, outputs)
        if n_u != len(model.inputs) or n_state != (len(model.memory.initial) if model.memory else 0):
            raise BundleError(f"{what} must have the inputs and the state that its bundle names; export it again.")
        initial = model.memory.initial if model.memory else np.empty(0)
        lower, upper = (np.array([getattr(p, side) for p in model.inputs]) for side in ("lower", "upper"))
        super().__init__(plan, initial, lower, upper, watch, model.dt or 0.0)
        self.model = model

    def predict(self, X: ArrayLike) -> Array:
        """Evaluate rows X (n, n_in), or (u, state) with memory -> (n, n_out)."""
        width = self.n_in + self.n_state
        return np.asarray(self.evaluate(finite_array(X, "X", "Rom.predict", (None, width))))

    def rollout(self, u: ArrayLike) -> Array:
        """Step over rows u (n_steps, n_in) from the initial state -> (n_steps, n_out)."""
        return np.asarray(self.run(finite_array(u, "u", "Rom.rollout", (None, self.n_in))))


class OnnxRom(_core.PythonBlock):
    """The same model run by onnxruntime, for comparison; it enters the interpreter, so a paced loop refuses it."""

    def __init__(self, model: BundleModel) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(model.onnx, options, providers=["CPUExecutionProvider"])
        kind = np.dtype("float64" if model.precision == "float64" else "float32")
        initial = (model.memory.initial if model.memory else np.empty(0)).astype(kind)[None, :]
        self.model = model
        state = [initial]  # not on self: the function would keep the block alive for ever

        def step(t: float, u: Array) -> list[float]:
            feed = {"u": u[None, :].astype(kind)}
            if model.memory is None:
                return [float(v) for v in session.run(["y"], feed)[0][0]]
            feed["state"] = initial if t == 0.0 else state[0]
            y, state[0] = session.run(["y", "state_next"], feed)
            return [float(v) for v in y[0]]

        super().__init__(step, len(model.inputs), len(model.outputs))


@dataclass(frozen=True, repr=False)
class LoadedBundle(Summarised):
    """A checked bundle whose models have repeated their golden vectors; `block` makes blocks of them.

    Parameters
    ----------
    engine
        What executes the models.
    differences
        {model: largest relative difference from its golden vectors}.
    """

    bundle: Bundle
    engine: str
    differences: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return str(self)

    def _summary(self) -> Summary:
        worst = max(self.differences.values(), default=0.0)
        said = f"loaded for engine '{self.engine}'; golden vectors repeated to {worst:.1e}"
        return replace(self.bundle._summary(), lines=[said])

    @property
    def hashes(self) -> dict[str, str]:
        """The hash of the bundle's description, which names the hash of every file."""
        return {str(self.bundle.path): str(self.bundle.description["sha256"])}

    def block(self, name: str | None = None, *, watch: bool = False, outputs: int | None = None) -> Rom | OnnxRom:
        """Make a block of the model `name` (of the only model when there is one); `watch` and `outputs` as in Rom."""
        if name is None:
            model = self.bundle.model
        elif name in self.bundle.models:
            model = self.bundle.models[name]
        else:
            known = ", ".join(self.bundle.models)
            raise ConfigError(f"Model '{name}' of bundle '{self.bundle.path}' is unknown; it has {known}.")
        if self.engine == "core":
            return Rom(model, watch=watch, outputs=outputs)
        if watch or outputs is not None:
            raise ConfigError("watch and outputs of a block need engine 'core', got engine 'onnxruntime'.")
        return OnnxRom(model)


def load_bundle(
    path: str | Path, *, engine: str = "core", signer: str | Path | Sequence[str | Path] | None = None
) -> LoadedBundle:
    """Read and check a bundle, compile its models and let them repeat their golden vectors.

    A model that differs from its golden vectors by more than its tolerance is refused.

    Parameters
    ----------
    path : path
        Of the folder or zip file.
    engine : str
        "core" runs in the loop; "onnxruntime" is the reference.
    signer : path or sequence of paths, optional
        Public key, or several of which one must have signed the bundle; see `hmor sign`.
    """
    one_of(engine, "engine", "load_bundle", ENGINES)
    bundle = read_bundle(path, signer=signer)
    differences, problems = {}, []
    for name, model in bundle.models.items():
        rom = Rom(model)
        _check_effort(rom, path)
        worst = golden_difference(rom)
        differences[name] = worst
        if not worst <= model.tolerance:
            problems.append(
                f"Model '{name}' of bundle '{path}' differs from its golden vectors by {worst:.2g}, its tolerance is "
                f"{model.tolerance:g}; export it again."
            )
    if problems:
        raise BundleError.from_problems(f"Bundle '{path}'", problems)
    return LoadedBundle(bundle, engine, differences)


def _check_effort(rom: Rom, path: str | Path) -> None:
    """Refuse golden vectors that would take long to repeat: at most about 3 s on any host that runs a loop."""
    golden = rom.model.golden
    rows = len(golden.X) + (0 if golden.u is None else len(golden.u))
    nanoseconds = rows * (rom.plan.multiply_adds + 10 * rom.plan.elements)
    if nanoseconds > 3e9:
        raise BundleError(
            f"Golden vectors of model '{rom.model.name}' of bundle '{path}' must be repeated in about 3 s, got "
            f"{rows} rows of {rom.plan.multiply_adds} multiply-adds and {rom.plan.elements} elements; export it again."
        )


def golden_difference(rom: Rom) -> float:
    """Return the largest relative difference of a compiled model from the golden vectors of its bundle."""
    golden = rom.model.golden
    worst = difference(rom.predict(golden.X), golden.Y)
    if golden.u is not None and golden.y is not None:
        worst = max(worst, difference(rom.rollout(golden.u), golden.y))
    return worst
