"""Names that must live in C, in an FMU and in a file system at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from mor.reduced.base import ReducedModel
from rt_runtime.errors import ConfigError

_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main
alignas alignof bool constexpr false nullptr static_assert thread_local true typeof
and asm catch class delete explicit export friend mutable namespace new not operator or private protected public
template this throw try typename using virtual xor con prn aux nul
fmi2 fmi2_types fmi3 fmi3_types fmi3_rest model_config model_instance
assert complex ctype errno fenv inttypes iso646 limits locale math setjmp signal stdarg stdbool stddef stdint stdio
stdlib string tgmath time wchar wctype mex matrix
com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9
"""
_TAKEN = frozenset(_WORDS.split())  # by C or C++ and their headers, by a file system, or by the files of an FMU
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}\Z")


def _is_free(name: object) -> bool:
    return isinstance(name, str) and bool(_IDENTIFIER.match(name)) and name.lower() not in _TAKEN


def check_name(name: str) -> None:
    """Refuse a name that C, an FMU or a file system would not take."""
    if not _is_free(name):
        raise ConfigError(
            f"Name of a controller must be a C identifier of at most 63 letters that is not taken, got {name!r}."
        )


def check_names(models: Mapping[str, ReducedModel]) -> None:
    """Refuse names of models and signals that C, an FMU or a file system would not take; all problems at once."""
    problems = []
    for name, model in models.items():
        if not _is_free(name):
            problems.append(
                f"Name of a model must be a C identifier of at most 63 letters that is not taken, got {name!r}."
            )
        ports = [port.name for port in (*model.inputs, *model.outputs)]
        for twice in _twice(ports):
            problems.append(f"Signals of model '{name}' must have different names, got '{twice}' twice; rename one.")
        for port in ports:
            if port.lower() == "time":
                problems.append(f"Signal '{port}' of model '{name}' must not be called time, which every FMU has.")
    for twice in _twice(str(name).casefold() for name in models):
        problems.append(f"Names of models must differ by more than upper and lower case, got '{twice}' twice.")
    if problems:
        raise ConfigError.from_problems("The request to export", problems)


def _twice(names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return sorted({name for name in names if name in seen or seen.add(name)})  # type: ignore[func-returns-value]
