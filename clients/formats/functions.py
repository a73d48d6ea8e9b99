"""Functions and modules with tests in Python: HumanEval, MBPP, BigCodeBench, KodCode."""

import re
import sys

from assay.clients.formats.fields import (
    Document,
    Record,
    decoded,
    decoded_if_there,
    field,
    named,
    text_of,
    without_nothing,
)

_WORD = re.compile(r"[A-Za-z_][\w.]*")


def humaneval(record: Record) -> Document:
    """Read a row of HumanEval or HumanEval+: `check(candidate)` in `test` (openai/human-eval; evalplus)."""
    return {
        "id": str(field(record, "task_id")),
        "prompt": field(record, "prompt"),
        "entry_point": field(record, "entry_point"),
        "test_code": field(record, "test"),
        "gold": record.get("canonical_solution"),
    }


def mbpp(record: Record) -> Document:
    """Read a row of MBPP as mxeval has it (HumanEval's fields), as Google has it, or of MBPP+ (evalplus).

    Google's hold asserts in `test_list`, the prompt in prose, and imports that the asserts need; MBPP+ adds `test`, one
    program of many asserts.
    """
    if "test_list" not in record:
        return humaneval(record)
    tests = [str(test) for test in decoded(record, "test_list") or ()]
    setup = record.get("test_setup_code") or "\n".join(decoded_if_there(record, "test_imports") or ())
    if setup.strip():
        tests = [f"{setup}\n{test}" for test in tests]
    if record.get("test"):
        tests.append(str(record["test"]))
    return {
        "id": str(field(record, "task_id")),
        "prompt": text_of(record, "text", "prompt"),
        "tests": tests,
        "style": "assert",
        "gold": record.get("code"),
    }


def bigcodebench(record: Record) -> Document:
    """Read a row of BigCodeBench: a unittest class in `test`; the solution goes on with the prompt's code.

    The tests were written to run below the solution: they get the prompt's own imports and constants, and of the
    completion the entry point alone, so that it cannot redefine what they use.
    """
    prompt, entry_point = str(field(record, "complete_prompt")), str(field(record, "entry_point"))
    above = re.split(rf"^def {re.escape(entry_point)}\b", prompt, maxsplit=1, flags=re.MULTILINE)[0]
    libraries = _WORD.findall(str(record.get("libs") or ""))
    requires = sorted({name.partition(".")[0] for name in libraries} - sys.stdlib_module_names)
    return without_nothing(
        {
            "id": str(field(record, "task_id")),
            "prompt": prompt,
            "entry_point": entry_point,
            "test_file": f"{above}from solution import {entry_point}\n\n{field(record, 'test')}",
            "gold": record.get("canonical_solution"),
            "requires": requires or None,
        }
    )


def kodcode(record: Record) -> Document:
    """Read a row of KodCode-V1: a pytest file in `test` that imports from `solution`."""
    functions = decoded_if_there(record, "test_info")
    only = functions[0] if isinstance(functions, list) and len(functions) == 1 else {}
    task = {
        "prompt": text_of(record, "question"),
        "entry_point": only.get("function_name"),
        "test_file": field(record, "test"),
        "gold": record.get("solution"),
    }
    return named(without_nothing(task), record, prefix="kodcode")
