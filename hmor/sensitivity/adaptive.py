"""`hmor sample --adaptive`: campaigns that choose their own next points, of models and of tests run by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rt_runtime.checks import positive, whole
from rt_runtime.errors import ConfigError

if TYPE_CHECKING:
    from hmor.study.file import Study


@dataclass(frozen=True)
class Goal:
    """When an adaptive campaign ends, and how it goes on: error to reach, points between two fits, most points."""

    until: float = 1e-3
    batch: int = 1
    most: int = 200

    def __post_init__(self) -> None:
        positive(self.until, "until", "hmor sample --adaptive")
        whole(self.batch, "batch", "hmor sample --adaptive", 1)
        whole(self.most, "most", "hmor sample --adaptive", 1)


def goal(adaptive: bool, until: str | None, batch: int | None, most: int | None) -> Goal | None:
    """Return the goal that the options of hmor sample say, None without --adaptive; `until` is "loo=1e-3"."""
    if not adaptive:
        if (until, batch, most) != (None, None, None):
            raise ConfigError("--until, --batch and --most of hmor sample belong to --adaptive; add it.")
        return None
    given: dict[str, Any] = {name: value for name, value in (("batch", batch), ("most", most)) if value is not None}
    if until is not None:
        kind, _, value = until.partition("=")
        try:
            given["until"] = float(value)
        except ValueError:
            kind = ""
        if kind.strip() != "loo":
            raise ConfigError(
                f"--until of hmor sample must be loo=ERROR, a leave-one-out error relative to the variance such as "
                f"loo=1e-3, got {until!r}."
            )
    return Goal(**given)


def refuse_trajectories(study: Study) -> None:
    """Refuse a study in which the samples of a part are trajectories, before anything is sampled."""
    from mor.campaign.model import outputs_of

    for name, part in study.parts.items():
        if part.model is not None and not outputs_of(part.build(study.place)):
            raise ConfigError(
                f"Samples of part '{name}' must be numbers for --adaptive, got trajectories; give the part quantities."
            )


def grow(study: Study, name: str, wanted: Goal, retry: bool) -> dict[str, Any]:
    """Let the campaign of a part go on until its goal is reached; return what was found."""
    from mor.uncertainty import run_adaptive

    part = study.parts[name]
    found = run_adaptive(
        part.build(study.place), part.make_design(study.study.seed), store=study.store(name), until=wanted.until,
        batch=wanted.batch, most=wanted.most, seed=study.study.seed, executor=part.executor, workers=part.workers,
        timeout=part.timeout, retry_failed=retry,
    )  # fmt: skip
    return _said(wanted, found.history, found.reached)


def by_hand(study: Study, name: str, wanted: Goal | None) -> dict[str, Any]:
    """Write or move on the table of tests of a part that is run by hand; without a goal no tests are added."""
    from mor.uncertainty import entered, laboratory

    part = study.parts[name]
    space = study.need(f"parts.{name}.parameters", part.parameters)
    assert part.table is not None and part.design is not None
    path, use = study.place / part.table, wanted or Goal(until=1e30)
    state = laboratory(
        path, space, part.outputs, until=use.until, first=part.make_design(study.study.seed), batch=use.batch,
        most=use.most, seed=study.study.seed,
    )  # fmt: skip
    said = {"kind": "laboratory", "table": str(path), "finished": state.done, "open": state.open}
    if state.done:
        from hmor.views.store import output_figures

        said["outputs"] = output_figures(entered(path, space, part.outputs))
    if wanted is None or state.loo is None:
        return said
    return said | _said(wanted, ((state.done, state.loo),), state.reached)


def unreached(result: dict[str, Any]) -> str:
    """Say which campaigns ended before their goal; empty when none did or tests are still open."""
    sentences = []
    for name, part in result.items():
        found = part.get("adaptive")
        if found and not found["reached"] and not part.get("open"):
            sentences.append(
                f"LOO of {name} must be at most {found['until']:g}, got {found['loo']:.3g} after "
                f"{found['history'][-1][0]} points; allow more with --most, or a larger --until."
            )
    return " ".join(sentences)


def _said(wanted: Goal, history: tuple[tuple[int, float], ...], reached: bool) -> dict[str, Any]:
    return {"adaptive": {"until": wanted.until, "loo": history[-1][1], "reached": reached,
                         "history": [list(one) for one in history]}}  # fmt: skip
