"""Which tests leave nothing behind: they can be run in a process that serves other tests afterwards.

Such *closed* tests only name what is pure: literals, what they define themselves, the usual builtins and the methods
of plain values, `math` and the types of `typing`. What they might change is then theirs alone and gone with them.
The look is at compiled code, which costs microseconds, and refuses whatever it does not know.
"""

import abc
import builtins
import math
import typing
from collections.abc import Iterable, Iterator
from opcode import EXTENDED_ARG, opmap
from types import AsyncGeneratorType, CodeType, CoroutineType, GeneratorType

_PURE = frozenset(
    {
        "abs", "all", "any", "bin", "bool", "bytes", "chr", "complex", "dict", "divmod", "enumerate", "filter", "float",
        "frozenset", "hex", "int", "isinstance", "iter", "len", "list", "map", "max", "min", "next", "oct", "ord",
        "pow", "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "zip",
    }
)  # fmt: skip
_FAULTS = (name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception))
_METHODS = (
    name
    for kind in (str, bytes, int, float, complex, list, tuple, dict, set, frozenset)
    for name in dir(kind)
    if not name.startswith("_") and name not in ("format", "format_map")  # these reach any attribute
)
_MATHS = (name for name in dir(math) if not name.startswith("_"))
_IMPORTED = frozenset({"math", "typing"})
_TYPES = frozenset(
    {
        "Any", "Callable", "Collection", "Container", "Counter", "DefaultDict", "Deque", "Dict", "FrozenSet",
        "Generator", "Hashable", "Iterable", "Iterator", "List", "Literal", "Mapping", "MutableMapping",
        "MutableSequence", "MutableSet", "NoReturn", "Optional", "OrderedDict", "Sequence", "Set", "Tuple", "Type",
        "TypeVar", "Union", "cast",
    }
)  # fmt: skip
"""Of `typing`, what is for annotations: other names there register, mark or evaluate what they are given."""
_KNOWN = frozenset((*_PURE, *_FAULTS, *_METHODS, *_MATHS, *_TYPES, *_IMPORTED))
_HELD = (builtins, math, typing, abc.ABCMeta, GeneratorType, CoroutineType, AsyncGeneratorType)
_REACHED = frozenset(name for holder in _HELD for name in dir(holder))
"""What lies behind the names and attributes that closed code may use, unless it is known: no name for its own."""

_STORE_NAME, _IMPORT_NAME = opmap["STORE_NAME"], opmap["IMPORT_NAME"]
_LASTING = frozenset(
    opmap[name]
    for name in (
        "STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_BUILD_CLASS", "BEFORE_WITH",
        "BEFORE_ASYNC_WITH", "GET_AWAITABLE", "GET_AITER", "LOAD_NAME_FROM_LOCALS", "LOAD_SPECIAL", "MATCH_CLASS",
    )
    if name in opmap
)  # fmt: skip
"""Instructions that set what outlives them, run what is entered, awaited or built as a class, or read attributes that
are named among the constants."""


def is_closed(codes: Iterable[CodeType], entry: str) -> bool:
    """Say whether module-level `codes`, run in one namespace beside a candidate's function `entry`, are closed."""
    parts = [part for code in codes for part in _with_nested(code)]
    own = {name for part in parts for name in _operands(part, _STORE_NAME)} | {entry}
    if any(name.startswith("_") or (name in _REACHED and name not in _KNOWN) for name in own):
        return False
    known = _KNOWN | own
    return all(
        known.issuperset(part.co_names)
        and _LASTING.isdisjoint(part.co_code[::2])
        and _IMPORTED.issuperset(_operands(part, _IMPORT_NAME))
        for part in parts
    )


def _with_nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_nested(constant)


def _operands(code: CodeType, wanted: int) -> Iterator[str]:
    """Yield the names that one kind of instruction has in `code`."""
    if wanted not in code.co_code[::2]:
        return
    prefix = 0
    for operation, argument in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        if operation == wanted:
            yield code.co_names[prefix | argument]
        prefix = (prefix | argument) << 8 if operation == EXTENDED_ARG else 0
