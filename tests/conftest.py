"""Effort of the property tests (`dev` by default, `ci` where CI is set), and the signals they send."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

settings.register_profile("dev", max_examples=10, deadline=None, derandomize=True)
settings.register_profile("ci", max_examples=80, deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

# A job in the background or under nohup ignores these, and so would all that the tests start: they stay ignored.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
