"""A forked process that evaluates samples: it can be killed, hang or leak without harm to the one that asked."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
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
from mor.campaign.model import Evaluable, Failure, Outcome
from mor.campaign.workers.chunk import Batch, Chunk, evaluate_chunk

_PR_SET_PDEATHSIG = 1
_forking = threading.Lock()  # a process forked in between would keep the other end of our pipe open


class Child:
    """A process with the chunks it was given, oldest first; it works on the oldest.

    It is forked: any function is a model, and compiled code need not be made again. Its pipe becomes readable when
    outcomes are there and when it dies. A page shared with it tells which sample of its chunk it began, and when.
    """

    def __init__(self, model: Evaluable) -> None:
        parent = os.getpid()
        with _forking, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads: it takes no lock of theirs
            self.pipe, theirs = Pipe()
            self._begun = memoryview(mmap.mmap(-1, 24)).cast("d")  # place in the chunk, when, number of the chunk
            self.pid = os.fork()
            if self.pid == 0:
                _live(model, theirs, parent, self._begun)
            theirs.close()
        self.tasks: deque[Chunk] = deque()
        self._given = 0.0
        self._received = 0
        self._broken = False
        self._code: int | None = None

    @property
    def since(self) -> float:
        """When it began its oldest sample, on the monotonic clock."""
        return self._begun[1] if self._at_work else self._given

    @property
    def _at_work(self) -> bool:
        """Whether it began its oldest chunk."""
        return bool(self._begun[2] == self._received + 1)

    def send(self, chunk: Chunk) -> None:
        """Give it one more chunk."""
        if not self.tasks:
            self._given = time.monotonic()
        self.tasks.append(chunk)
        try:
            self.pipe.send(chunk)
        except OSError:
            self._broken = True

    def receive(self) -> list[Batch]:
        """Take the outcomes that are there, without waiting."""
        outcomes = []
        try:
            while self.pipe.poll():
                outcomes.append(self.pipe.recv())
                self.tasks.popleft()
                self._received += 1
                self._given = time.monotonic()
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
        """Say whether its oldest sample takes longer than `timeout` seconds."""
        return timeout is not None and bool(self.tasks) and time.monotonic() - self.since > timeout

    def give_up(self, timeout: float | None) -> tuple[tuple[int, Outcome], Chunk]:
        """End it and return its oldest sample as a failed one, and the rest of the chunk."""
        chunk, seconds = self.tasks.popleft(), time.monotonic() - self.since
        place = int(self._begun[0]) if self._at_work else 0
        if not self.ended() and timeout is not None:
            failure = Failure("timeout", f"The sample took longer than {timeout:g} s; its worker was ended.")
            self.stop()
        else:
            failure = Failure("died", f"Worker process {self.pid} {self.stop()}.")
        return (int(chunk.indices[place]), Outcome(failure=failure, seconds=seconds)), chunk.without(place)

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


def _live(model: Evaluable, pipe: Connection, parent: int, begun: memoryview[float]) -> None:
    """Be the forked process; never returns."""
    code = 1
    try:
        release_in_child()
        os.setsid()  # a group of its own: it can be ended with all it starts, and Ctrl-C goes to the campaign alone
        die_with(parent)
        os.dup2(2, 1)  # what a model prints must not mix with the campaign's standard output
        sys.stdout = sys.stderr
        _work(model, pipe, begun)
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def _work(model: Evaluable, pipe: Connection, begun: memoryview[float]) -> None:
    """Evaluate what comes through the pipe until it closes."""

    def begin(place: int) -> None:
        begun[0], begun[1], begun[2] = place, time.monotonic(), chunks

    chunks = 0
    while True:
        try:
            chunk = pipe.recv()
            chunks += 1
            pipe.send(evaluate_chunk(model, chunk, begin))
        except (EOFError, OSError):
            return


def die_with(parent: int) -> None:
    """Ask the system to end this process when its parent ends, however that ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)
