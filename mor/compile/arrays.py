"""The arrays of a compiled function: names become indices, constant indices are checked, helpers are compiled with it.

It is one pass over numba's intermediate representation, before types are known, so it needs no source text:

    u.force        becomes  u[0]                   for inputs={"force": "N"}
    dx.v = a       becomes  dx[1] = a
    u[2]           is a problem when there is one input
    x[0] = 1.0     is a problem: x, u and p are read only
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from numba.core import ir
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.ir_utils import build_definitions, find_const, get_definition, guard
from numba.core.untyped_passes import IRProcessing

KNOWN_TO_NUMBA = {"builtins", "math", "numba", "numpy", "operator", "scipy"}
"""Packages whose functions numba compiles by itself."""


@dataclass(frozen=True)
class NamedArray:
    """One array argument: what it holds ("states"), the names of its elements, and whether the function writes it."""

    holds: str
    names: tuple[str, ...]
    written: bool = False
    dimensions: int = 1


@dataclass
class Arrays:
    """The array arguments of a function by position, and what the pass found in its text.

    problems: sentences. loops: whether there are any. computed_at: lines where an index is computed.
    """

    of: str
    by_position: dict[int, NamedArray] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    check_helpers: bool = False
    loops: bool = False
    computed_at: set[int] = field(default_factory=set)

    def say(self, sentence: str, line: int) -> None:
        """Note a problem once, with its line."""
        text = f"{sentence} (line {line})."
        if text not in self.problems:
            self.problems.append(text)


def pipeline(arrays: Arrays) -> type[CompilerBase]:
    """Return the compiler for `numba.njit(pipeline_class=...)` of a function with these arrays."""
    return type("WithArrays", (_WithArrays,), {"arrays": arrays})


class _WithArrays(CompilerBase):  # type: ignore[misc]
    arrays: Arrays

    def define_pipelines(self) -> list[Any]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.add_pass_after(_ResolveArrays, IRProcessing)
        manager.finalize()
        return [manager]


@register_pass(mutates_CFG=False, analysis_only=False)
class _ResolveArrays(FunctionPass):  # type: ignore[misc]
    _name = "resolve_arrays"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        arrays: Arrays = state.pipeline.arrays
        for block in state.func_ir.blocks.values():
            block.body = [new for old in block.body for new in _resolved(old, state.func_ir, arrays)]
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        arrays.loops = bool(compute_cfg_from_blocks(state.func_ir.blocks).loops())
        return True


def _resolved(statement: Any, code: Any, arrays: Arrays) -> list[Any]:
    """Return the statements that take the place of one."""
    if isinstance(statement, ir.SetAttr):
        array = _array(statement.target, code, arrays)
        if array is None:
            return [statement]
        index = _index_of(array, statement.attr, statement.target.name, arrays, statement.loc.line)
        if not array.written:
            _read_only(array, f"{statement.target.name}.{statement.attr}", arrays, statement.loc.line)
        constant, var = _constant(index or 0, statement)
        return [constant, ir.SetItem(statement.target, var, statement.value, statement.loc)]
    if isinstance(statement, ir.SetItem | ir.StaticSetItem):
        _note_computed(statement, code, arrays)
        array = _array(statement.target, code, arrays)
        if array is not None:
            _check_index(array, statement, statement.target.name, code, arrays)
            if not array.written:
                _read_only(array, f"{statement.target.name}[...]", arrays, statement.loc.line)
    if not isinstance(statement, ir.Assign):
        return [statement]
    value = statement.value
    if isinstance(value, ir.Expr) and value.op == "getattr":
        array = _array(value.value, code, arrays)
        if array is not None:
            index = _index_of(array, value.attr, value.value.name, arrays, statement.loc.line)
            if index is None:
                return [statement]
            constant, var = _constant(index, statement)
            statement.value = ir.Expr.getitem(value.value, var, statement.loc)
            return [constant, statement]
    if isinstance(value, ir.Expr) and value.op in ("getitem", "static_getitem"):
        _note_computed(value, code, arrays)
        array = _array(value.value, code, arrays)
        if array is not None:
            _check_index(array, value, value.value.name, code, arrays)
    _take_helper(statement, code, arrays)
    return [statement]


def _array(var: Any, code: Any, arrays: Arrays) -> NamedArray | None:
    """Return the array argument behind a variable, None when it is something else."""
    definition = guard(get_definition, code, var)
    return arrays.by_position.get(definition.index) if isinstance(definition, ir.Arg) else None


def _index_of(array: NamedArray, name: str, argument: str, arrays: Arrays, line: int) -> int | None:
    if name in array.names and array.dimensions == 1:
        return array.names.index(name)
    if name in ("shape", "size", "ndim"):
        return None
    have = ", ".join(array.names) or "none"
    arrays.say(f"'{argument}.{name}' must name one of the {array.holds} of {arrays.of}, which are {have}", line)
    return None


def _check_index(array: NamedArray, access: Any, argument: str, code: Any, arrays: Arrays) -> None:
    """A constant index must lie inside; an index that is computed is left to the compiled bounds checks."""
    index = _constant_index(access, code)
    if index is None:
        return
    n, each = len(array.names), index if isinstance(index, tuple) else (index,)
    if len(each) != array.dimensions:
        arrays.say(
            f"'{argument}' of {arrays.of} must have {array.dimensions} indices, got {len(each)}", access.loc.line
        )
    elif any(i is not None and not -n <= i < n for i in each):
        text = ", ".join("..." if i is None else str(i) for i in each)
        last = f"; the last is {argument}[{n - 1}]" if array.dimensions == 1 and n else ""
        have = f"{n} {array.holds if n != 1 else array.holds[:-1]}"
        arrays.say(f"'{argument}[{text}]' of {arrays.of} must lie inside its {have}{last}", access.loc.line)


def _note_computed(access: Any, code: Any, arrays: Arrays) -> None:
    if _constant_index(access, code) is None:
        arrays.computed_at.add(access.loc.line)


def _constant_index(access: Any, code: Any) -> int | tuple[int | None, ...] | None:
    index = access.index
    if not isinstance(index, ir.Var):
        return index if isinstance(index, int | tuple) else None
    definition = guard(get_definition, code, index)
    if isinstance(definition, ir.Expr) and definition.op == "build_tuple":
        found = [guard(find_const, code, item) for item in definition.items]
        return tuple(i if isinstance(i, int) else None for i in found)
    value = guard(find_const, code, index)
    if isinstance(value, tuple):
        return tuple(i if isinstance(i, int) else None for i in value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _read_only(array: NamedArray, text: str, arrays: Arrays, line: int) -> None:
    arrays.say(f"'{text}' of {arrays.of} must not be written: {array.holds} are read only", line)


def _constant(value: int, statement: Any) -> tuple[Any, Any]:
    scope = statement.target.scope
    var = scope.redefine("$index", loc=statement.loc)
    return ir.Assign(ir.Const(value, statement.loc), var, statement.loc), var


def _take_helper(statement: Any, code: Any, arrays: Arrays) -> None:
    """Compile a plain function that this one calls, and put a twin with bounds checks in its place where asked for."""
    value = statement.value
    found = value.value if isinstance(value, ir.Global | ir.FreeVar) else None
    if isinstance(value, ir.Expr) and value.op == "getattr":  # module.helper
        owner = guard(get_definition, code, value.value)
        if isinstance(owner, ir.Global | ir.FreeVar):
            found = getattr(owner.value, value.attr, None)
    if isinstance(found, FunctionType) and found.__module__.split(".")[0] not in KNOWN_TO_NUMBA:
        found = _compiled_helper(found, arrays.of)
        statement.value = ir.Global(found.py_func.__name__, found, statement.loc)
    if isinstance(found, Dispatcher) and arrays.check_helpers:
        statement.value = ir.Global(found.py_func.__name__, with_bounds_checks(found, arrays.of), statement.loc)


def _compiled_helper(helper: Any, of: str) -> Any:
    """Return a plain Python function as a compiled one, and so all that it calls."""
    import numba

    if not hasattr(helper, "_compiled_helper"):
        helper._compiled_helper = numba.njit(error_model="numpy", pipeline_class=pipeline(Arrays(of)))(helper)
    return helper._compiled_helper


def with_bounds_checks(helper: Any, of: str) -> Any:
    """Return the same compiled function with bounds checks, in itself and in all it calls."""
    import numba

    if not hasattr(helper, "_with_bounds_checks"):
        options = {key: value for key, value in helper.targetoptions.items() if key not in ("nopython", "boundscheck")}
        compiler = pipeline(Arrays(of, check_helpers=True))
        helper._with_bounds_checks = numba.njit(boundscheck=True, pipeline_class=compiler, **options)(helper.py_func)
    return helper._with_bounds_checks
