"""A forked process that evaluates samples: it can be killed, hang or leak without harm to the one that asked."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import sys
import threading
import time
import traceback
import warnings
from collections import deque
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from mor.campaign.lock import release_in_child
from mor.campaign.model import Evaluable, Failure, Outcome, evaluate_sample

Task = tuple[int, dict[str, float]]

_PR_SET_PDEATHSIG = 1
_forking = threading.Lock()  # a process forked in between would keep the other end of our pipe open


class Child:
    """A process with the tasks it was given, oldest first; it works on the oldest.

    It is forked: any function is a model, and compiled code need not be made again. Its pipe becomes readable when an
    outcome is there and when it dies. `since`: when it began its oldest task, on the monotonic clock.
    """

    def __init__(self, model: Evaluable) -> None:
        parent = os.getpid()
        with _forking, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads: it takes no lock of theirs
            self.pipe, theirs = Pipe()
            self.pid = os.fork()
            if self.pid == 0:
                _live(model, theirs, parent)
            theirs.close()
        self.tasks: deque[Task] = deque()
        self.since = 0.0
        self._broken = False
        self._code: int | None = None

    def send(self, task: Task) -> None:
        """Give it one more task."""
        if not self.tasks:
            self.since = time.monotonic()
        self.tasks.append(task)
        try:
            self.pipe.send(task)
        except OSError:
            self._broken = True

    def receive(self) -> list[tuple[int, Outcome]]:
        """Take the outcomes that are there, without waiting."""
        outcomes = []
        try:
            while self.pipe.poll():
                outcomes.append(self.pipe.recv())
                self.tasks.popleft()
                self.since = time.monotonic()
        except (EOFError, OSError, pickle.UnpicklingError):
            self._broken = True
        return outcomes

    def ended(self) -> bool:
        """Say whether it died; ask before `receive`, so that nothing it sent is missed."""
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._broken or self._code is not None

    def late(self, timeout: float | None) -> bool:
        """Say whether its oldest task takes longer than `timeout` seconds."""
        return timeout is not None and bool(self.tasks) and time.monotonic() - self.since > timeout

    def give_up(self, timeout: float | None) -> tuple[int, Outcome]:
        """End it and return its oldest task as a failed one."""
        index, _ = self.tasks.popleft()
        seconds = time.monotonic() - self.since
        if not self.ended() and timeout is not None:
            failure = Failure("timeout", f"The sample took longer than {timeout:g} s; its worker was ended.")
            self.stop()
        else:
            failure = Failure("died", f"Worker process {self.pid} {self.stop()}.")
        return index, Outcome(failure=failure, seconds=seconds)

    def stop(self) -> str:
        """End it with all it started; say how it ended."""
        if self._broken:
            self._wait(1.0)  # it closed its pipe because it is ending
        if self._code is None:
            for end in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    end(self.pid, signal.SIGKILL)
            self._wait(None)
        self.pipe.close()
        code = self._code or 0
        if code >= 0:
            return f"exited with code {code}"
        name = f" ({signal.Signals(-code).name})" if -code in set(signal.Signals) else ""
        return f"was ended by signal {-code}{name}"

    def _wait(self, seconds: float | None) -> None:
        end = None if seconds is None else time.monotonic() + seconds
        while self._code is None and (end is None or time.monotonic() < end):
            if not self.ended() or self._code is None:
                time.sleep(0.001)


def _live(model: Evaluable, pipe: Connection, parent: int) -> None:
    """Be the forked process; never returns."""
    code = 1
    try:
        release_in_child()
        os.setsid()  # a group of its own: it can be ended with all it starts, and Ctrl-C goes to the campaign alone
        die_with(parent)
        os.dup2(2, 1)  # what a model prints must not mix with the campaign's standard output
        sys.stdout = sys.stderr
        _work(model, pipe)
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def _work(model: Evaluable, pipe: Connection) -> None:
    """Evaluate what comes through the pipe until it closes."""
    while True:
        try:
            index, parameters = pipe.recv()
            pipe.send((index, evaluate_sample(model, parameters)))
        except (EOFError, OSError):
            return


def die_with(parent: int) -> None:
    """Ask the system to end this process when its parent ends, however that ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)
