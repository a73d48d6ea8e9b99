"""Values of the standard library that cross by value: numbers, dates, paths, patterns, ranges, views, exceptions.

Each kind is one line in a table: how it is taken apart into plain parts, and how it is put together again from
parts of exactly the right types. numpy and pandas live in `assay.verifiers.split.arrays`.
"""

import array
import datetime as dt
import pathlib
import re
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType, SimpleNamespace
from typing import Any  # parts and values are of every type

from assay.verifiers.split import arrays, names, networks, symbols
from assay.verifiers.split.kinds import is_predicate
from assay.verifiers.split.wire import Code, ProtocolError

_FRACTION_BITS = 400_000  # reducing a fraction takes quadratic time
_PATTERN_CHARS = 65_536
_FLAGS = re.IGNORECASE | re.LOCALE | re.MULTILINE | re.DOTALL | re.UNICODE | re.VERBOSE | re.ASCII

Pack = Callable[[Any], bytes]
Unpack = Callable[[bytes], Any]


@dataclass(frozen=True)
class _Form:
    """How one type crosses: its parts, and the exact types of the parts from which it is made again."""

    parts: Callable[[Any], list[Any]]
    make: Callable[..., Any]
    types: tuple[type | tuple[type, ...], ...]


def _fraction(numerator: int, denominator: int) -> Fraction:
    if denominator <= 0 or max(numerator.bit_length(), denominator.bit_length()) > _FRACTION_BITS:
        raise ProtocolError("a fraction out of bounds")
    return Fraction(numerator, denominator)


def _timezone(offset: dt.timedelta, name: str | None) -> dt.timezone:
    return dt.timezone(offset) if name is None else dt.timezone(offset, name)


def _timezone_parts(zone: dt.timezone) -> list[Any]:
    unnamed = dt.timezone(zone.utcoffset(None)).tzname(None)
    name = zone.tzname(None)
    return [zone.utcoffset(None), None if name == unnamed else name]


def _time(hour: int, minute: int, second: int, micro: int, zone: Any, fold: int) -> dt.time:
    return dt.time(hour, minute, second, micro, _zone(zone), fold=fold)


def _datetime(ordinal: list[int], zone: Any, fold: int) -> dt.datetime:
    if any(type(part) is not int for part in ordinal):
        raise ProtocolError("a date of something else than integers")
    return dt.datetime(*ordinal, _zone(zone), fold=fold)  # type: ignore[misc, arg-type]  # a wrong count is a TypeError


def _zone(zone: Any) -> dt.tzinfo | None:
    if zone is None or type(zone) is dt.timezone or type(zone).__name__ == "ZoneInfo":
        return zone  # type: ignore[no-any-return]  # checked to be one of ours
    raise ProtocolError("not a time zone")


def _zone_info(key: str) -> dt.tzinfo:
    from zoneinfo import ZoneInfo  # late: every fork would pay for it, and few completions use it

    return ZoneInfo(key)


def _is_poser(value: object) -> bool:
    """Whether a namespace has what text or a set compares by."""
    return type(value) is SimpleNamespace and any(map(is_predicate, vars(value)))


def _namespace(attributes: dict[Any, Any]) -> SimpleNamespace:
    made = SimpleNamespace(**attributes)
    if _is_poser(made):
        raise ProtocolError("a namespace that poses as text or a set")
    return made


def _pattern(text: str | bytes, flags: int) -> Any:
    if len(text) > _PATTERN_CHARS:
        raise ProtocolError("a regular expression out of bounds")
    try:
        return re.compile(text, flags & _FLAGS)
    except (re.error, Warning) as error:
        raise ProtocolError(f"not a regular expression: {error}") from error


_FORMS: Mapping[str, _Form] = {
    "Decimal": _Form(lambda v: [str(v)], Decimal, (str,)),
    "Fraction": _Form(lambda v: [v.numerator, v.denominator], _fraction, (int, int)),
    "date": _Form(lambda v: [v.year, v.month, v.day], dt.date, (int, int, int)),
    "time": _Form(
        lambda v: [v.hour, v.minute, v.second, v.microsecond, v.tzinfo, v.fold],
        _time, (int, int, int, int, object, int),
    ),
    "datetime": _Form(
        lambda v: [[v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond], v.tzinfo, v.fold],
        _datetime, (list, object, int),
    ),
    "timedelta": _Form(lambda v: [v.days, v.seconds, v.microseconds], dt.timedelta, (int, int, int)),
    "timezone": _Form(_timezone_parts, _timezone, (dt.timedelta, (str, type(None)))),
    "ZoneInfo": _Form(lambda v: [v.key], _zone_info, (str,)),
    "UUID": _Form(lambda v: [v.int], lambda number: uuid.UUID(int=number), (int,)),
    "PurePosixPath": _Form(lambda v: [str(v)], pathlib.PurePosixPath, (str,)),
    "PureWindowsPath": _Form(lambda v: [str(v)], pathlib.PureWindowsPath, (str,)),
    "PosixPath": _Form(lambda v: [str(v)], pathlib.PosixPath, (str,)),
    "Pattern": _Form(lambda v: [v.pattern, v.flags], _pattern, ((str, bytes), int)),
    "range": _Form(lambda v: [v.start, v.stop, v.step], range, (int, int, int)),
    "slice": _Form(lambda v: [v.start, v.stop, v.step], slice, (object, object, object)),
    "array": _Form(lambda v: [v.typecode, v.tobytes()], array.array, (str, bytes)),
    "dict_keys": _Form(lambda v: [list(v)], lambda keys: dict.fromkeys(keys).keys(), (list,)),
    "dict_values": _Form(lambda v: [list(v)], lambda values: dict(enumerate(values)).values(), (list,)),
    "dict_items": _Form(lambda v: [list(v)], lambda items: dict(items).items(), (list,)),
    "SimpleNamespace": _Form(lambda v: [vars(v)], _namespace, (dict,)),
    "mappingproxy": _Form(lambda v: [dict(v)], lambda value: MappingProxyType(value), (dict,)),
}  # fmt: skip
_FORM_TYPES: tuple[type, ...] = (
    Decimal, Fraction, dt.date, dt.time, dt.datetime, dt.timedelta, dt.timezone, uuid.UUID,
    pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, re.Pattern, range, slice, array.array,
    type({}.keys()), type({}.values()), type({}.items()), MappingProxyType, SimpleNamespace,
)  # fmt: skip
_FORM_OF: Mapping[type, str] = {kind: kind.__name__ for kind in _FORM_TYPES}
_SINGLETONS = (Ellipsis, NotImplemented)


def encode(value: Any, pack: Pack) -> tuple[int, bytes] | None:
    """Return the extension code and payload of a leaf, or None if `value` does not cross by value."""
    kind = type(value)
    if kind is int:
        return Code.INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
    form = _FORM_OF.get(kind) or ("ZoneInfo" if _is_zone_info(kind) else None)
    if form is not None and _has_plain_zone(value) and not _is_poser(value):
        return Code.STDLIB, pack([form, _FORMS[form].parts(value)])
    if kind is complex:
        return Code.COMPLEX, pack([value.real, value.imag])
    if value is Ellipsis or value is NotImplemented:
        return Code.SINGLETON, bytes([_SINGLETONS.index(value)])
    name = names.name_of(value)
    if name is not None:
        return Code.NAMED, name.encode()
    if symbols.is_symbolic(value):
        parts = symbols.parts_of(value)
        return None if parts is None else (Code.SYMBOLIC, pack(parts))
    if networks.is_network_type(kind):
        return Code.NETWORK, pack(networks.parts_of(value))
    return arrays.encode(value, pack)


def decode(code: int, data: bytes, unpack: Unpack) -> object:
    """Return the leaf for a code and payload. Raises ProtocolError and the usual decoding errors."""
    match code:
        case Code.INTEGER:
            return int.from_bytes(data, "big", signed=True)
        case Code.STDLIB:
            return _decode_form(*unpack(data))
        case Code.COMPLEX:
            real, imag = unpack(data)
            _check(real, float)
            _check(imag, float)
            return complex(real, imag)
        case Code.SINGLETON:
            return _SINGLETONS[data[0]]
        case Code.NAMED:
            return names.named(data.decode())
        case Code.ARRAY | Code.SCALAR | Code.FRAME:
            return arrays.decode(code, data, unpack)
        case Code.SYMBOLIC:
            return symbols.put_together(*unpack(data))
        case Code.NETWORK:
            return networks.put_together(*unpack(data))
        case _:
            raise ProtocolError(f"unknown extension {code}")


def is_buffer(kind: type) -> bool:
    """Say whether values of this type are mutable arrays, frames or graphs (nodes, so that they keep identity)."""
    return arrays.is_array_type(kind) or networks.is_network_type(kind)


def copy_buffer(value: Any) -> Any:
    """Remember the content of a buffer, for `is_unchanged`."""
    return networks.parts_of(value.copy()) if networks.is_network_type(type(value)) else value.copy()


def is_unchanged(before: Any, buffer: Any) -> bool:
    """Say whether a buffer still holds what `copy_buffer` remembered."""
    if networks.is_network_type(type(buffer)):
        return bool(networks.parts_of(buffer) == before)
    return arrays.is_unchanged(before, buffer)


def replace_buffer(target: Any, source: Any) -> None:
    """Make one buffer hold what another of its type holds."""
    if type(target) is not type(source):
        raise ProtocolError("a buffer was copied back as something else")
    if networks.is_network_type(type(target)):
        networks.fill(target, *networks.parts_of(source)[1:])
    else:
        arrays.replace_contents(target, source)


def _decode_form(name: Any, parts: Any) -> object:
    form = _FORMS[_check(name, str)]
    if len(_check(parts, list)) != len(form.types):
        raise ProtocolError(f"a {name} with {len(parts)} parts")
    for part, kinds in zip(parts, form.types, strict=True):
        if kinds is not object and type(part) not in (kinds if isinstance(kinds, tuple) else (kinds,)):
            raise ProtocolError(f"a {name} made of a {type(part).__name__}")
    return form.make(*parts)


def _check(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ProtocolError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value


def _is_zone_info(kind: type) -> bool:
    zoneinfo = sys.modules.get("zoneinfo")
    return zoneinfo is not None and kind is zoneinfo.ZoneInfo


def _has_plain_zone(value: Any) -> bool:
    if type(value) not in (dt.datetime, dt.time):
        return not _is_zone_info(type(value)) or value.key is not None
    zone = value.tzinfo
    return zone is None or type(zone) is dt.timezone or (_is_zone_info(type(zone)) and zone.key is not None)
