"""The page of all keys of a study file, written from the classes that check it."""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from hmor.study.train import KINDS, ModelSection
from mor.marginals import Marginal
from mor.sampling.space import ParameterSpace
from rt_runtime import Rule

PLAIN = {bool: "true or false", int: "whole number", float: "number", str: "text"}
HEAD = """# Keys of a study file

Written by `python -m hmor.study.reference` from the classes that check a study; a test compares. A key that is not here
is refused, with its name. Paths are relative to the study file; "module:name(...)" is imported, modules beside the file
first. A section `[quick]` may hold any of these keys: `--quick` puts them in the place of the others.
"""


def page() -> str:
    """Return the page as Markdown."""
    from hmor.study.file import Study

    parts = [HEAD]
    for path, kind in sections(Study, ""):
        whole = inspect.cleandoc(kind.__doc__ or "").partition("\n\nParameters\n")[0]
        doc = whole.partition(": ")[2] or whole
        head = f"## `[{path}" if path.endswith('"') else f"## `[{path}]"
        parts.append(f"{head}`\n\n{doc[:1].upper()}{doc[1:]}\n\n| key | value | default |\n|---|---|---|")
        parts.append("\n".join(f"| `{key}` | {value} | {default} |" for key, value, default in keys(kind)) + "\n")
    return "\n".join(parts)


def sections(kind: type, path: str) -> Iterator[tuple[str, type]]:
    """Walk through the tables below a class: (path, class), a list of tables with [] behind its name."""
    if kind is ModelSection:
        yield from ((f'{path}]` with `kind = "{name}"', settings) for name, settings in KINDS.items())
    for name, annotation, _ in fields(kind):
        for child, suffix in tables(annotation):
            if name == "actuators":  # as those of `actuator`
                continue
            below = f"{path}.{name}{suffix}".lstrip(".")
            fixed = [get_args(one)[0] for key, one, _ in fields(child) if key == "kind" and len(get_args(one)) == 1]
            yield f'{below}]` with `kind = "{fixed[0]}"' if fixed else below, child
            yield from sections(child, below)


def keys(kind: type) -> Iterator[tuple[str, str, str]]:
    """Return name, value and default of each key that is no table."""
    for name, annotation, default in sorted(fields(kind), key=lambda field: field[0] != "kind"):
        if not list(tables(annotation)):
            yield name, words(annotation), default
    if kind is Rule:
        yield "most", "number: short for lower = -most, upper = most", ""


def fields(kind: type) -> Iterator[tuple[str, Any, str]]:
    """Return name, annotation and default of the fields of a model or a dataclass."""
    if issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            value = field.get_default(call_default_factory=True, validated_data={})
            default = "required" if field.is_required() else shown(value)
            if kind is not ModelSection or name != "settings":  # its keys stand in the model itself
                yield name, field.annotation, default
        return
    hints = get_type_hints(kind, include_extras=True)
    for one in dataclasses.fields(kind):  # type: ignore[arg-type]
        factory = one.default_factory
        value = one.default if factory is dataclasses.MISSING else factory()
        yield one.name, hints[one.name], "required" if value is dataclasses.MISSING else shown(value)


def tables(annotation: Any) -> Iterator[tuple[type, str]]:
    """Return the classes an annotation holds as tables, with what the path gets behind the name of the key."""
    if annotation in (Marginal, ParameterSpace):
        return
    if isinstance(annotation, type) and (issubclass(annotation, BaseModel) or dataclasses.is_dataclass(annotation)):
        yield annotation, ""
    origin, inside = get_origin(annotation), get_args(annotation)
    suffix = {list: "[]", tuple: "[]", dict: ".NAME"}.get(origin, "")
    if origin is Annotated:
        yield from tables(inside[0])
    elif origin in (list, tuple, dict, Union, types.UnionType):
        seen = [child for part in inside for child in tables(part)]
        yield from ((child, suffix + below) for child, below in seen)


def words(annotation: Any) -> str:
    """Say in words what a value must be."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return words(inside[0])
    if origin is Literal:
        return " or ".join(f'`"{option}"`' for option in inside)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(words(part) for part in inside if part is not type(None)))
    if origin is dict:
        return f"table of {words(inside[1])}"
    if origin in (list, tuple):
        return f"list of {words(inside[0])}"
    if annotation is ParameterSpace:
        law = '{law = "uniform", lower = 0, upper = 50, unit = "N"}'
        return f'table of laws such as `{law}`, see [sampling](sampling.md), or `"module:name()"` of a ParameterSpace'
    return PLAIN.get(annotation, "any value")


def shown(value: Any) -> str:
    """Return a default as it would stand in the file; nothing when the key is simply absent."""
    if value is None or value in ([], {}, ()):
        return ""
    if isinstance(value, float) and math.isinf(value):
        return "no limit"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, list | tuple):
        return "`[" + ", ".join(shown(item).strip("`") for item in value) + "]`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


if __name__ == "__main__":
    print(page(), end="")
