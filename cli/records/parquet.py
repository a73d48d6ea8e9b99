"""Rows of Parquet files, where pyarrow is there to read them."""

import datetime
import decimal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO  # Any: rows are unparsed values

from assay.errors import InvalidRequest
from assay.extras import how_to_get

_ROWS_AT_ONCE = 64


def parquet_rows(file: BinaryIO, path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield rows as JSON values, without nulls; one row group is read at a time.

    Raises InvalidRequest where pyarrow is absent, or cannot read the file.
    """
    try:
        import pyarrow  # here, not at the top: it is an extra, and large
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise InvalidRequest(
            "this is Parquet, and pyarrow, which reads it, is not installed",
            path=str(path),
            fix=f"{how_to_get(['pyarrow'])}; or write it as JSON lines",
        ) from error
    try:
        for batch in pq.ParquetFile(file, pre_buffer=False).iter_batches(_ROWS_AT_ONCE):
            for row in batch.to_pylist():
                yield {name: _plain(value) for name, value in row.items() if value is not None}
    except pyarrow.ArrowException as error:
        raise InvalidRequest(f"not valid Parquet: {error}", path=str(path), fix="write it again") from error


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: dates, decimals and bytes as text."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta | decimal.Decimal):
        return str(value)
    return value
