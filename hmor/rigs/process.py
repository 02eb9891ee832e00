"""A rig in a process of its own, for rehearsals on one machine."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hmor.rigs.key import new_key
from rt_runtime.errors import ConfigError


@contextmanager
def rig_process(name: str, rate: float, *options: str, folder: Path | None = None) -> Iterator[tuple[int, Path]]:
    """Start `hmor rig NAME` with a new key in another process; give its port and the file of the key; end it after.

    `folder` is where modules of the study are; by default the current one.
    """
    with tempfile.TemporaryDirectory() as place:
        key = Path(place) / "rig.key"
        new_key(key)
        program = [sys.executable, "-m", "hmor", "rig", name, "--rate", str(rate), "--key-file", str(key)]
        program += ["--seconds", "3600", *options]
        process = subprocess.Popen(  # in a session of its own: no Ctrl-C ends it
            program, stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=folder
        )
        assert process.stderr is not None
        try:
            heard = []
            for line in process.stderr:
                heard.append(line)
                if found := re.search(r"listens on \S+:(\d+)", line):
                    yield int(found.group(1)), key
                    break
            else:
                raise ConfigError(f"Rig {name!r} of the study did not start: {''.join(heard).strip()}")
        finally:
            process.terminate()
            try:
                process.wait(5.0)
            except subprocess.TimeoutExpired:
                process.kill()
            process.stderr.close()
