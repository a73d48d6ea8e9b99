"""LiveCodeBench (arXiv 2403.07974), whose hidden tests are packed: base64, zlib, a pickle of one text of JSON.

The pickle is never loaded: its operations are listed, and the one text in it is taken.
"""

import base64
import binascii
import json
import pickletools
import zlib
from typing import Any  # Any: tests are unparsed JSON

from assay.clients.formats.fields import (
    Document,
    Record,
    decoded,
    decoded_if_there,
    field,
    named,
    without_nothing,
)
from assay.clients.formats.programs import task_of_tests
from assay.errors import InvalidRequest

_LARGEST_BYTES = 256 * 2**20
_TEXTS = frozenset({"BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE"})
_AROUND = frozenset({"PROTO", "FRAME", "MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT", "STOP"})


def livecodebench(record: Record) -> Document:
    """Read a row of code_generation or code_generation_lite: public and private tests, one after another.

    Inputs of functions are one argument a line, in JSON; the name is in `metadata.func_name`.
    """
    public = decoded(record, "public_test_cases") or []
    private = _private(record) if record.get("private_test_cases") else []
    tests = [*public, *private]
    about = decoded_if_there(record, "metadata")
    is_function = any(test.get("testtype") == "functional" for test in tests)
    label = {
        "inputs": [test.get("input", "") for test in tests],
        "outputs": [test.get("output", "") for test in tests],
        "fn_name": field(about or {}, "func_name") if is_function else None,
    }
    task = task_of_tests(label, record, "question_content")
    return named(without_nothing(task), record, prefix="livecodebench")


def _private(record: Record) -> Any:
    """Tests that are plain, JSON in text, or packed."""
    value = record["private_test_cases"]
    if not isinstance(value, str) or value.lstrip().startswith("["):
        return decoded(record, "private_test_cases") or []
    try:
        return json.loads(_unpacked(value))
    except (ValueError, binascii.Error, zlib.error) as error:
        raise InvalidRequest(
            f"neither JSON nor packed tests: {error}", path="private_test_cases", fix="check --format against the file"
        ) from error


def _unpacked(text: str) -> str:
    stream = zlib.decompressobj()
    data = stream.decompress(base64.b64decode(text, validate=True), _LARGEST_BYTES)
    if stream.unconsumed_tail:
        raise ValueError(f"more than {_LARGEST_BYTES} bytes")
    texts = []
    for operation, argument, _ in pickletools.genops(data):
        if operation.name in _TEXTS and isinstance(argument, str):
            texts.append(argument)
        elif operation.name not in _AROUND:
            raise ValueError(f"a pickle of something else than one text ({operation.name})")
    if len(texts) != 1:
        raise ValueError("a pickle of something else than one text")
    return texts[0]
