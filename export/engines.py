"""Run an exported model: the same questions to onnxruntime and to the compiled C as to the model itself."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from export.c.compiler import compile_c
from rt_runtime.bundle.read import Golden, difference
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

_SECONDS = 600

Rows = Callable[[Array], Array]
FreeRun = Callable[[Array], Array]


class OnnxEngine:
    """An ONNX file in onnxruntime, single-threaded on the CPU; `initial` is the state a free run starts from."""

    def __init__(self, content: bytes, initial: Array | None) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        self._initial = initial
        double = self.session.get_inputs()[0].type == "tensor(double)"
        self._dtype = np.dtype(np.float64 if double else np.float32)
        self._n_u = int(self.session.get_inputs()[0].shape[1])

    def rows(self, X: Array) -> Array:
        """Evaluate rows X (n, n_in), or (u, state) with memory, in chunks that keep the work space small."""
        parts = []
        for at in range(0, len(X), 4096):
            x = X[at : at + 4096].astype(self._dtype)
            feed = {"u": np.ascontiguousarray(x[:, : self._n_u])}
            if self._initial is not None:
                feed["state"] = np.ascontiguousarray(x[:, self._n_u :])
            parts.append(self.session.run(["y"], feed)[0].astype(np.float64))
        out: Array = np.concatenate(parts)
        return out

    def run(self, u: Array) -> Array:
        """Run freely over u (n_steps, n_in) from the initial state."""
        assert self._initial is not None
        state = self._initial[None, :].astype(self._dtype)
        rows = u.astype(self._dtype)
        out = []
        for k in range(len(rows)):
            y, state = self.session.run(["y", "state_next"], {"u": rows[k : k + 1], "state": state})
            out.append(y[0])
        result: Array = np.array(out, dtype=np.float64)
        return result


def golden_difference(golden: Golden, rows: Rows, run: FreeRun) -> float:
    """Return the largest relative difference of an engine from the golden vectors, free run included."""
    worst = difference(rows(golden.X), golden.Y)
    if golden.u is not None and golden.y is not None:
        worst = max(worst, difference(run(golden.u), golden.y))
    return worst


class CEngine:
    """The generated C, compiled on this host, answering through a pipe.

    files: the C files of the model (header, source, main) by base name.
    """

    def __init__(self, name: str, files: Mapping[str, bytes], n_outputs: int, precision: str, compiler: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        place = Path(self._folder.name)
        for file, content in files.items():
            (place / file).write_bytes(content)
        sources = [place / f"{name}.c", place / f"{name}_main.c"]
        self._program = compile_c(sources, place / "check", compiler=compiler)
        self._n_outputs = n_outputs
        self._dtype = np.dtype(precision)

    def replay(self) -> int:
        """Replay the golden vectors inside the program and return its exit code."""
        return subprocess.run([str(self._program)], capture_output=True, timeout=_SECONDS).returncode

    def rows(self, X: Array) -> Array:
        """Evaluate rows X, each from the state it states."""
        return self._answer("rows", X)

    def run(self, u: Array) -> Array:
        """Run freely over u from the initial state."""
        return self._answer("run", u)

    def _answer(self, mode: str, values: Array) -> Array:
        question = np.ascontiguousarray(values, dtype=self._dtype).tobytes()
        done = subprocess.run([str(self._program), mode], input=question, capture_output=True, timeout=_SECONDS)
        if done.returncode != 0:
            raise ConfigError(f"Compiled C of a model must answer, got exit code {done.returncode}.")
        out: Array = np.frombuffer(done.stdout, dtype=self._dtype).reshape(-1, self._n_outputs).astype(np.float64)
        return out
