"""Plain JSON answers."""

from collections.abc import Mapping
from typing import Any  # Any: answers are JSON

from starlette.responses import Response

from assay.canonical import dump_line


def json_answer(document: Mapping[str, Any], status: int = 200) -> Response:
    """Return `document` as a JSON response in the order of its fields."""
    return Response(dump_line(document), status, media_type="application/json")
