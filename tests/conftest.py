"""Effort of the property tests: `dev` by default, `ci` where CI is set."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("dev", max_examples=10, deadline=None, derandomize=True)
settings.register_profile("ci", max_examples=80, deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
