"""What the candidate may decide about its own objects, and what it may not.

The danger is an object that lies: whoever hands it an expected value, or asks it whether it equals one, has lost.
So plain values are never compared by the candidate, and its objects take part in arithmetic or ordering with plain
values only where a test works with a class of the completion by name (`Vector(1, 2) * 3`), which is then the
subject of the test. A function that returns an object of some other class, where a number or text was expected,
gets nothing from it but what it commits to without knowing the expected value.
"""

import dis
from collections.abc import Mapping, Sequence, Set
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import Any, TypeVar  # operands are of every type

from assay.verifiers.split.kinds import Origin, ProxyObject, StandinClass, is_predicate, is_standin, link_of

Kind = TypeVar("Kind")


class Sentinel:
    """Something no object of a completion can rightly be equal to."""

    __slots__ = ()


def equal(mine: Any, other: object) -> Any:
    """Decide `proxy == other`: never by the candidate where `other` is plain; NotImplemented leaves it to `other`."""
    if mine is other:
        return True
    cls = type(mine)
    if not isinstance(other, ProxyObject):
        content = _content_like(mine, type(other)) if cls._assay_defines_eq else None
        return NotImplemented if content is None else content == other
    if cls._assay_compares_fields or type(other)._assay_compares_fields:  # type: ignore[attr-defined]  # all stand-ins have it
        return type(other) is cls and _fields(mine) == _fields(other)
    if not (cls._assay_defines_eq or type(other)._assay_defines_eq):  # type: ignore[attr-defined]
        return False
    link, _ = link_of(mine)
    if link.special("eq", mine, other) is not True:
        return False
    return not (_claims(mine, Sentinel()) or _claims(other, Sentinel()))


def _content_like(mine: Any, kind: type) -> Any:
    """What a mapping, sequence or set of the candidate holds, asked for without telling what is expected; or None."""
    if kind is dict and isinstance(mine, Mapping):
        return {key: mine[key] for key in mine}
    if kind is list and isinstance(mine, Sequence):
        return list(mine)
    if kind in (set, frozenset) and isinstance(mine, Set):
        return set(mine)
    return None


def exact(method: str, kind: type[Kind], value: Any) -> Kind:
    """Return `value` if it is exactly a `kind`. Raises TypeError as Python does for a special method's result."""
    if type(value) is not kind:
        raise TypeError(f"{method} returned a {type(value).__name__} instead of {kind.__name__}")
    exactly: Kind = value
    return exactly


def may_absorb(mine: Any, other: Any) -> bool:
    """Say whether `mine` may compute with `other`: another stand-in, or anything if its class is the subject."""
    return is_subject(type(mine)) or is_standin(other)


def may_match(mine: Any, other: Any) -> bool:
    """Say whether `mine` may subtract or order `other`, which tells the candidate what a test expects.

    What a method or an attribute returned is a result, even if it is of the class that the test works with:
    `abs(Circle(2).area() - 12.57) < 0.01` cannot be won by an `area` that returns a circle.
    """
    return is_standin(other) or (is_subject(type(mine)) and _origin_of(mine) in (None, Origin.MADE))


def may_contain(mine: Any, other: Any) -> bool:
    """Say whether the candidate may tell if `other` is in `mine`; results only if the test itself made them before."""
    return is_standin(other) or (is_subject(type(mine)) and not is_result(mine))


def derive(value: Any) -> Any:
    """Note that `value` is what a method, an attribute or an operation of a stand-in came to; return it."""
    if _is_marked(value):
        seen = _origin_of(value)
        _mark(value, Origin.RETURNED if seen is Origin.MADE else seen or Origin.RESULT)
    return value


def construct(value: Any) -> Any:
    """Note that the test made `value` by calling its class; return it."""
    if _is_marked(value) and _origin_of(value) is None:
        _mark(value, Origin.MADE)
    return value


def is_result(value: Any) -> bool:
    """Say whether `value` came out of another of the candidate's objects, and was not made by the test before."""
    return is_standin(value) and _origin_of(value) is Origin.RESULT


def _is_marked(value: Any) -> bool:
    return isinstance(type(value), StandinClass) and not isinstance(value, BaseException)


def _mark(value: Any, origin: Origin) -> None:
    object.__setattr__(value, "_assay_origin", origin)


def _origin_of(value: Any) -> Origin | None:
    try:
        found: Origin = object.__getattribute__(value, "_assay_origin")
    except AttributeError:
        return None
    return found


def may_order(mine: Any, other: Any) -> bool:
    """Say whether the candidate may order `mine` and `other`."""
    cls = type(mine)
    return (is_subject(cls) and may_match(mine, other)) or (cls._assay_compares_fields and type(other) is cls)


def is_subject(cls: Any) -> bool:
    """Say whether a test works with this class by name: it called it or used its attributes, as one does with classes.

    The name by which it was got must look like a class's: a completion that puts a class in the place of the function
    `mean` would otherwise make every number that it returns a liar.
    """
    return any(
        isinstance(base, StandinClass) and base._assay_used and any(map(is_class_name, base._assay_names))
        for base in cls.__mro__
    )


def is_class_name(name: str) -> bool:
    """Say whether a name looks like that of a class: not ours of a bound method either (`Solution:area`)."""
    return name.isidentifier() and name.lstrip("_")[:1].isupper()


def check_method(owner: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse to ask an object of an unknown class whether it matches a plain value. Raises TypeError."""
    if not is_predicate(name) or is_subject(type(owner)):
        return
    if any(not is_standin(value) for value in (*args, *kwargs.values())):
        raise TypeError(f"{name}() of a {type(owner).__name__}, which is not plain data, is not trusted")


def is_looked_up(owner: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Say whether a call asks where a plain value is in what an object of an unknown class holds.

    Tests of an order compare such places, `order.index("a") < order.index("b")`: a counter would pass them.
    """
    is_lookup = name == "index" and len(args) == 1 and not kwargs and not is_standin(args[0])
    return is_lookup and is_iterable(type(owner)) and not is_subject(type(owner))


def look_up(owner: Any, wanted: Any) -> int:
    """Return the first place of a value in what an object holds. Raises ValueError if it is not there."""
    for place, found in enumerate(owner):
        if found is wanted or found == wanted:
            return place
    raise ValueError(f"the value is not in the {type(owner).__name__}")


def is_iterable(cls: type) -> bool:
    """Say whether instances of a stand-in class can be iterated over, again and again."""
    names = {name for base in cls.__mro__ for name in vars(base)}
    return bool({"__iter__", "__getitem__"} & names) and "__next__" not in names


def may_swallow(error: BaseException | None, traceback: TracebackType | None) -> bool:
    """Say whether the candidate's context manager may swallow an exception that left the `with` block.

    Not a failed assertion, nothing that is no Exception, and nothing where statements of the block would be
    skipped: they may be the assertions.
    """
    if error is None:
        return False
    if isinstance(error, AssertionError) or not isinstance(error, Exception) or traceback is None:
        return False
    if any(_is_ours(frame) for frame, _ in walk_tb(traceback)):
        return False
    return not _may_skip_assertions(traceback)


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("assay.")


def _may_skip_assertions(traceback: TracebackType) -> bool:
    """Whether the block that is being left asserts something, or has code on later lines than the one that raised."""
    code, at = traceback.tb_frame.f_code, traceback.tb_lasti
    entries = _handlers(traceback)
    if not entries:
        return True
    block = min(entries, key=lambda entry: entry.end - entry.start)
    inside = [found for found in dis.get_instructions(code) if block.start <= found.offset < block.end]
    if any(_asserts(found) for found in inside):
        return True
    raised = next((found.positions for found in inside if found.offset == at), None)
    if raised is None or raised.end_lineno is None:
        return True
    return any(_starts_after(found, raised.end_lineno) for found in inside)


def was_swallowed(error: StopIteration) -> bool:
    """Say whether neither a handler nor the test itself has met an exception that the candidate raised.

    Then C code took it for the end of an iterator: `all(map(is_right, cases))` is True, and a loop over
    `zip(map(f, values), expected)` is over, as soon as `f` raises StopIteration.
    """
    return error.__traceback__ is None or not _handlers(error.__traceback__)  # Python 3.11 gives it one when it is met


def _handlers(traceback: TracebackType) -> list[Any]:
    """Return the entries of its frame's exception table for where an exception came up, or passes through."""
    code, at = traceback.tb_frame.f_code, traceback.tb_lasti
    return [entry for entry in dis._parse_exception_table(code) if entry.start <= at < entry.end]  # type: ignore[attr-defined]  # there is no public reader


def _asserts(instruction: dis.Instruction) -> bool:
    name = instruction.argval if isinstance(instruction.argval, str) else ""
    return instruction.opname == "LOAD_ASSERTION_ERROR" or name.lower().startswith(("assert", "fail"))


def _starts_after(instruction: dis.Instruction, line: int) -> bool:
    start = instruction.positions.lineno if instruction.positions is not None else None
    return start is not None and start > line


def _fields(obj: Any) -> Any:
    link, handle = link_of(obj)
    return link.fields(handle)


def _claims(obj: Any, sentinel: Sentinel) -> bool:
    """Whether the object says it equals something foreign."""
    link, _ = link_of(obj)
    try:
        return link.special("eq", obj, sentinel) is not False
    except Exception:  # noqa: BLE001 - comparing with a stranger may raise anything, which is no claim
        return False
