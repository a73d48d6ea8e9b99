"""numpy arrays and scalars, pandas frames, series and indexes, as plain parts.

Neither library is imported before a value of its kind is met: `sys.modules` is asked first.
"""

import importlib
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any  # numpy and pandas are optional and only met at run time

from assay.verifiers.split.wire import Code, ProtocolError

_DTYPE = re.compile(r"[<>|=]?[biufcSUmM?]\d{0,10}(\[(\d{1,9})?[A-Za-z]{1,2}\])?")
_EXTENSION_DTYPE = re.compile(
    r"U?Int\d{1,2}|Float\d{2}|boolean|string|str|category|datetime64\[\w{1,2}, [\w/+:-]{1,64}\]"
)
_LAST_CODE_POINT = 0x10FFFF

Pack = Callable[[Any], bytes]
Unpack = Callable[[bytes], Any]


def is_array_type(kind: type) -> bool:
    """Say whether values of this exact type are arrays or frames that functions may change in place."""
    if (numpy := sys.modules.get("numpy")) is not None and kind is getattr(numpy, "ndarray", None):
        return True
    pandas = sys.modules.get("pandas")
    return pandas is not None and kind in (getattr(pandas, "DataFrame", None), getattr(pandas, "Series", None))


def encode(value: Any, pack: Pack) -> tuple[int, bytes] | None:
    """Return code and payload of a numpy or pandas value, or None if it is neither or does not cross by value."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "ndarray"):
        return None
    if type(value) is numpy.ndarray:
        return _encode_array(value, pack)
    if isinstance(value, numpy.generic) and type(value).__module__ == "numpy" and value.dtype.kind in "biufcSUmM":
        return Code.SCALAR, pack([value.dtype.str, value.tobytes()])
    pandas = sys.modules.get("pandas")
    if pandas is not None and str(type(value).__module__).startswith("pandas") and hasattr(pandas, "DataFrame"):
        parts = _frame_parts(value, pandas)
        return None if parts is None else (Code.FRAME, pack(parts))
    return None


def decode(code: int, data: bytes, unpack: Unpack) -> object:
    """Return the numpy or pandas value for a payload. Raises ProtocolError and the usual decoding errors."""
    if code == Code.ARRAY:
        return _decode_array(*unpack(data))
    if code == Code.SCALAR:
        dtype, body = unpack(data)
        return _decode_array(dtype, [1], body)[0]
    pandas = importlib.import_module("pandas")  # heavy, and only where frames cross
    kind, *parts = unpack(data)
    if type(kind) is not str or kind not in _FRAMES:
        raise ProtocolError("an unknown kind of frame")
    return _FRAMES[kind](pandas, *parts)


def replace_contents(target: Any, source: Any) -> None:
    """Make `target` (an array, frame or series of this process) hold what `source` holds."""
    if hasattr(target, "_update_inplace"):
        target._update_inplace(source)
    elif target.shape == source.shape and target.dtype == source.dtype:
        target[...] = source
    else:  # reshaped or retyped in place
        target.resize(source.shape, refcheck=False)
        target[...] = source


def is_unchanged(before: Any, after: Any) -> bool:
    """Say whether two arrays or frames hold the same bytes in the same shape."""
    if hasattr(before, "equals"):
        return bool(before.equals(after)) and list(before.axes[-1]) == list(after.axes[-1])
    if before.shape != after.shape or before.dtype != after.dtype:
        return False
    if before.dtype.kind == "O":
        return all(a is b for a, b in zip(before.ravel(), after.ravel(), strict=True))
    return bool(before.tobytes() == after.tobytes())


def _encode_array(value: Any, pack: Pack) -> tuple[int, bytes] | None:
    kind = value.dtype.kind
    if kind == "O":
        return Code.ARRAY, pack(["O", list(value.shape), list(value.ravel())])
    if kind not in "biufcSUmM" or value.dtype.itemsize == 0:
        return None
    return Code.ARRAY, pack([value.dtype.str, list(value.shape), value.tobytes()])


def _decode_array(dtype: Any, shape: Any, body: Any) -> Any:
    numpy = importlib.import_module("numpy")  # heavy, and only where arrays cross
    if type(dtype) is not str or type(shape) is not list or any(type(n) is not int or n < 0 for n in shape):
        raise ProtocolError("a malformed array")
    if dtype == "O":
        flat = numpy.empty(len(body), dtype=object)
        for at, item in enumerate(body):
            flat[at] = item
        return flat.reshape(shape)
    if not _DTYPE.fullmatch(dtype) or type(body) is not bytes:
        raise ProtocolError("an array of an unknown type")
    kind = numpy.dtype(dtype)
    if kind.itemsize == 0 or len(body) % kind.itemsize:
        raise ProtocolError("an array with half an item")
    flat = numpy.frombuffer(body, dtype=kind).copy()
    return _normalised(flat, numpy).reshape(shape)


def _normalised(flat: Any, numpy: Any) -> Any:
    """Refuse or repair bit patterns that the type does not have: other truths than 0 and 1, impossible characters."""
    if flat.dtype.kind == "b":
        return flat.view(numpy.uint8) != 0
    if flat.dtype.kind == "U" and flat.size:
        points = flat.view(flat.dtype.str[0] + "u4")
        if int(points.max()) > _LAST_CODE_POINT:
            raise ProtocolError("a string array with impossible characters")
    return flat


def _frame_parts(value: Any, pandas: Any) -> list[Any] | None:
    kind = type(value)
    if kind is pandas.DataFrame:
        columns = [_column_parts(value.iloc[:, at]) for at in range(value.shape[1])]
        if any(column is None for column in columns):
            return None
        return ["DataFrame", columns, _index_parts(value.columns, pandas), _index_parts(value.index, pandas)]
    if kind is pandas.Series:
        column = _column_parts(value)
        return None if column is None else ["Series", column, _index_parts(value.index, pandas), value.name]
    if isinstance(value, pandas.Index):
        return ["Index", _index_parts(value, pandas)]
    if kind is pandas.Timestamp:
        return ["Timestamp", value.value if value.unit == "ns" else value.asm8.astype("i8").item(), value.unit,
                None if value.tz is None else str(value.tz)]  # fmt: skip
    if kind is pandas.Timedelta:
        return ["Timedelta", value.asm8.astype("i8").item(), value.unit]
    if value is pandas.NaT or value is pandas.NA:
        return ["Missing", "NaT" if value is pandas.NaT else "NA"]
    return None


def _column_parts(series: Any) -> list[Any] | None:
    name = str(series.dtype)
    if series.dtype.__class__.__module__.startswith("numpy"):
        return ["", series.to_numpy()]
    if not _EXTENSION_DTYPE.fullmatch(name):
        return None
    if name == "category":
        return [name, list(series.astype(object)), list(series.cat.categories), bool(series.cat.ordered)]
    values = series.astype(object)
    return [name, list(values.where(values.notna(), None)) if name != "str" else list(values)]


def _index_parts(index: Any, pandas: Any) -> list[Any]:
    if type(index) is pandas.RangeIndex:
        return ["range", index.start, index.stop, index.step, index.name]
    if isinstance(index, pandas.MultiIndex):
        return ["multi", list(index), list(index.names)]
    parts = _column_parts(index.to_series())
    return ["plain", parts or ["", index.to_numpy(dtype=object)], index.name]


def _column(pandas: Any, parts: list[Any]) -> Any:
    name, values, *more = parts
    if name == "":
        return values
    if type(name) is not str or not _EXTENSION_DTYPE.fullmatch(name):
        raise ProtocolError("a column of an unknown type")
    if name == "category":
        return pandas.Categorical(values, categories=more[0], ordered=more[1])
    return pandas.array(values, dtype=pandas.Series([], dtype=name).dtype)


def _index(pandas: Any, parts: list[Any]) -> Any:
    kind, *rest = parts
    match kind:
        case "range":
            start, stop, step, name = rest
            return pandas.RangeIndex(start, stop, step, name=name)
        case "multi":
            return pandas.MultiIndex.from_tuples(rest[0], names=rest[1])
        case "plain":
            return pandas.Index(_column(pandas, rest[0]), name=rest[1])
        case _:
            raise ProtocolError("an unknown kind of index")


def _data_frame(pandas: Any, columns: list[Any], labels: list[Any], index: list[Any]) -> Any:
    rows = _index(pandas, index)
    frame = pandas.DataFrame({at: _column(pandas, parts) for at, parts in enumerate(columns)}, index=rows)
    frame.columns = _index(pandas, labels)
    return frame


def _timestamp(pandas: Any, value: int, unit: str, zone: str | None) -> Any:
    moment = pandas.Timestamp(value, unit=unit).as_unit(unit)
    return moment if zone is None else moment.tz_localize("UTC").tz_convert(zone)


_FRAMES: Mapping[str, Callable[..., Any]] = {
    "DataFrame": _data_frame,
    "Series": lambda pandas, column, index, name: pandas.Series(
        _column(pandas, column), index=_index(pandas, index), name=name
    ),
    "Index": lambda pandas, parts: _index(pandas, parts),
    "Timestamp": _timestamp,
    "Timedelta": lambda pandas, value, unit: pandas.Timedelta(value, unit=unit).as_unit(unit),
    "Missing": lambda pandas, name: pandas.NaT if name == "NaT" else pandas.NA,
}
