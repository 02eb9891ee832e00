"""A process that holds one OpenSees model: it may crash, hang or flood its error output without harm to us."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Self

import numpy as np

from mor.campaign.lock import release_in_child
from mor.campaign.workers.child import die_with
from mor.sources.opensees_engine import Engine, NotConverged
from mor.sources.opensees_library import load_opensees
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

_KEPT = 4000  # characters of its messages that are kept
_LOG_LIMIT = 256 * 2**20  # bytes of messages after which the process is ended
_forking = threading.Lock()


class SolverFailure(RuntimeError):
    """An external solver gave no result; `messages` is the end of what it wrote."""

    def __init__(self, sentence: str, messages: str = "") -> None:
        super().__init__(sentence)
        self.messages = messages


class OpenSeesProcess:
    """A forked process that builds a model and answers questions about it, one at a time.

    Parameters
    ----------
    make : called in the process with the module of OpenSees' commands; returns the engine.
    timeout : seconds that building, a step, or reading may take.
    of : how error sentences call the model.
    """

    def __init__(self, make: Callable[[Any], Engine], *, timeout: float, of: str) -> None:
        self._of, self._timeout = of, timeout
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`
        parent = os.getpid()
        with _forking, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the child takes no lock of another thread
            self._pipe, theirs = Pipe()
            self._pid = os.fork()
            if self._pid == 0:
                self._pipe.close()
                _live(make, theirs, parent, self._log.fileno(), timeout)
            theirs.close()
        try:
            self._answer()
        except BaseException:
            self.close()
            raise

    def ask(self, what: str, *arguments: Any) -> Any:
        """Send a question and wait for the answer."""
        if self._pid == 0:
            raise SolverFailure(f"The OpenSees process of {self._of} has ended; start the run anew.")
        with contextlib.suppress(OSError):  # a dead process: `_answer` says how it ended
            self._pipe.send((what, arguments))
        return self._answer()

    def _answer(self) -> Any:
        try:
            kind, value = self._pipe.recv()
        except (EOFError, OSError):
            sentence = f"The OpenSees process of {self._of} {self._end()}."
            raise SolverFailure(sentence, self.messages()) from None
        if kind == "ok":
            return value
        if kind == "config":
            raise ConfigError(value)
        raise SolverFailure(value, self.messages())

    def _end(self) -> str:
        """Wait for the process that closed its pipe and say why it ended."""
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        code = os.waitstatus_to_exitcode(status)
        if code >= 0:
            return f"ended itself with code {code}"
        if -code == signal.SIGALRM:
            return f"took longer than {self._timeout:g} s for a step and was ended"
        if -code == signal.SIGXFSZ:
            return "wrote more messages than allowed and was ended"
        return f"was ended by signal {signal.Signals(-code).name}"

    def messages(self) -> str:
        """Return the end of what OpenSees has written to its outputs."""
        size = os.fstat(self._log.fileno()).st_size
        start = max(0, size - _KEPT)
        return os.pread(self._log.fileno(), _KEPT, start).decode(errors="replace")

    def close(self) -> None:
        """End the process."""
        if self._pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = 0
        self._pipe.close()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def _live(make: Callable[[Any], Engine], pipe: Connection, parent: int, log: int, timeout: float) -> None:
    """Be the process; never returns."""
    try:
        release_in_child()
        faulthandler.disable()  # the sentence says how it ended
        die_with(parent)
        resource.setrlimit(resource.RLIMIT_FSIZE, (_LOG_LIMIT, _LOG_LIMIT))
        for number in (signal.SIGALRM, signal.SIGXFSZ, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
        os.dup2(log, 1)
        os.dup2(log, 2)
        # OpenSees writes through Python's streams too
        sys.stdout = sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        _serve(make, pipe, timeout)
    finally:
        os._exit(1)  # without OpenSees' own way to end, which may hang


def _serve(make: Callable[[Any], Engine], pipe: Connection, timeout: float) -> None:
    built: list[Engine] = []
    _reply(pipe, lambda: _timed(timeout, lambda: built.append(make(load_opensees()))))
    while True:
        try:
            what, arguments = pipe.recv()
        except (EOFError, OSError):
            os._exit(0)
        if what == "run":
            _reply(pipe, partial(_run, built[0], timeout, *arguments))
        elif what == "trial":
            _in_a_fork(built[0], pipe, timeout, *arguments)
        else:
            _reply(pipe, partial(_timed, timeout, getattr(built[0], what), *arguments))


def _run(engine: Engine, timeout: float, rows: Array, dt: float, every: int) -> tuple[Array, dict[str, float]]:
    """Run a whole history; the time limit holds for each step of it."""
    kept = [_timed(timeout, engine.start, rows[0])]
    for i, row in enumerate(rows[1:], 1):
        y = _timed(timeout, engine.advance, row, dt)
        if i % every == 0:
            kept.append(y)
    return np.array(kept), engine.counts.numbers()


def _in_a_fork(engine: Engine, pipe: Connection, timeout: float, u: Array, dt: float) -> None:
    """Make a step in a copy of this process and discard the copy: OpenSees cannot take a committed step back."""
    pid = os.fork()
    if pid == 0:
        _reply(pipe, partial(_timed, timeout, engine.advance, u, dt))
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        pipe.send(("failed", "OpenSees crashed or hung in a trial step; the state before it is kept."))


def _reply(pipe: Connection, question: Callable[[], Any]) -> None:
    """Send the answer, or in words why there is none."""
    try:
        answer: tuple[str, Any] = ("ok", question())
    except NotConverged as error:
        answer = ("failed", str(error))
    except ConfigError as error:
        answer = ("config", str(error))
    except Exception as error:
        traceback.print_exc()
        answer = ("failed", f"The OpenSees model failed by {type(error).__name__}: {error}.")
    pipe.send(answer)


def _timed(seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the function; end this process by SIGALRM when it takes longer, even inside compiled code."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return function(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
