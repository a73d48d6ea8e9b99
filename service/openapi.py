"""The OpenAPI document: `python -m assay.service.openapi > openapi.yaml`. Needs PyYAML, which only development has."""

import sys
from typing import Any  # Any: an OpenAPI document is JSON

import yaml  # type: ignore[import-untyped]  # its stubs are one more package to keep

from assay.service.api import create_app
from assay.service.assembly import Assembler
from assay.service.connection import Connection
from assay.service.parts import assemble_parts
from assay.settings import Settings


def describe() -> dict[str, Any]:
    """Return the document as the service hands it out at `/openapi.json`; connects to nothing."""
    connection = Connection("redis://127.0.0.1:1")
    try:
        parts = assemble_parts(Settings(), connection, Assembler().make_registry(), private_redis=False)
        return create_app(parts).openapi()
    finally:
        connection.close()


def render() -> str:
    """Return the document as YAML."""
    text: str = yaml.safe_dump(describe(), sort_keys=False, allow_unicode=True, width=120)
    return text


if __name__ == "__main__":
    sys.stdout.write(render())
