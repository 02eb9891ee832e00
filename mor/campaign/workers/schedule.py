"""One way to run samples, wherever they are evaluated: here, in processes of this machine, on a cluster."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from mor.campaign.workers.chunk import Batch, Waiting

Batches = Generator[Batch, None, None]


class Team(Protocol):
    """Whoever evaluates samples."""

    def fill(self, waiting: Waiting) -> None:
        """Take as many chunks as can be used now."""

    @property
    def busy(self) -> bool:
        """Whether samples are under way."""

    def collect(self, waiting: Waiting) -> list[Batch]:
        """Wait for outcomes and return them; put back what was lost. An empty list is none yet."""

    def close(self) -> None:
        """End everything."""


def run_team(team: Team, waiting: Waiting) -> Batches:
    """Give outcomes in the order in which they end, until no sample waits or is under way."""
    try:
        while True:
            team.fill(waiting)
            if not team.busy:
                return
            batches = [batch for batch in team.collect(waiting) if len(batch)]
            for batch in batches:
                waiting.learn(batch)
            team.fill(waiting)  # before the outcomes are written, so that nobody waits for the disk
            yield from batches
    finally:
        team.close()
