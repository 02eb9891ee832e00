"""Objects that a study file names: "module:name", or "module:name(arguments)" of a function that makes one."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, ValidationInfo

from mor.campaign.model import Evaluable
from rt_runtime.errors import ConfigError


def import_object(text: str, folder: Path) -> Any:
    """Import "module:name", or call "module:name(1.0, side='rear')"; modules in `folder` are found first.

    Arguments are literals: numbers, texts, true and false, lists and tables of them.
    """
    match = re.fullmatch(r"([\w.]+):([\w.]+)(\(.*\))?", text.strip())
    if match is None:
        raise ConfigError(f'must be "module:name", for example "brake:torque", got {text!r}')
    module, name, call = match.groups()
    place = str(folder.resolve())
    if place not in sys.path:
        sys.path.insert(0, place)
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        raise ConfigError(f"module {module!r} cannot be imported: {type(error).__name__}: {error}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"module {module!r} has no {name!r}")
        found = getattr(found, part)
    if call:
        positional, named = _arguments(text, call)
        try:
            found = found(*positional, **named)
        except Exception as error:
            raise ConfigError(f"{text!r} cannot be made: {type(error).__name__}: {error}") from error
    return found


def _arguments(text: str, call: str) -> tuple[list[Any], dict[str, Any]]:
    try:
        node = ast.parse(f"f{call}", mode="eval").body
        assert isinstance(node, ast.Call)
        named = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
        return [ast.literal_eval(value) for value in node.args], named
    except (SyntaxError, ValueError, AssertionError):
        raise ConfigError(f"arguments of {text!r} must be literals, for example \"brake:part('rear')\"") from None


def load_object(text: str, folder: Path) -> Callable[..., Any] | Evaluable:
    """Import a function or a model as `import_object` does."""
    found = import_object(text, folder)
    if isinstance(found, Evaluable):
        return found
    if callable(found):
        function: Callable[..., Any] = found
        return function
    raise ConfigError(f"{text!r} must be a function or a model, got {type(found).__name__}")


def _importable(text: str, info: ValidationInfo) -> str:
    if info.context is not None:
        import_object(text, info.context["folder"])
    return text


ObjectPath = Annotated[str, AfterValidator(_importable)]
"""The path of something that must be importable when the file is checked."""
