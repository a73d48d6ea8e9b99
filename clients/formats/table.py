"""Which published formats there are, who reads each, and by which fields a record shows that it is of one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from assay.clients.formats import answers, functions, livecodebench, programs, puzzles, trainers
from assay.clients.formats.fields import Document, Record
from assay.errors import InvalidRequest


class Format(StrEnum):
    """A published format of tasks; each value is what `--format` takes."""

    HUMANEVAL = "humaneval"
    MBPP = "mbpp"
    APPS = "apps"
    TACO = "taco"
    CODECONTESTS = "codecontests"
    LIVECODEBENCH = "livecodebench"
    BIGCODEBENCH = "bigcodebench"
    KODCODE = "kodcode"
    GSM8K = "gsm8k"
    MATH = "math"
    NL4OPT = "nl4opt"
    SUDOKU = "sudoku"
    COUNTDOWN = "countdown"
    REASONING_GYM = "reasoning-gym"
    OPEN_R1 = "open-r1"
    VERL = "verl"


@dataclass(frozen=True)
class _Shape:
    read: Callable[[Record], Document]
    fields: frozenset[str]
    """A record of the format has all of these."""
    has_more: Callable[[Record], bool] = lambda _: True
    """What else shows it, where other formats have these fields too."""


def _is_mbpp(record: Record) -> bool:
    return "test_list" in record or str(record["task_id"]).startswith("MBPP/")


def _is_humaneval(record: Record) -> bool:
    return "test" in record and not _is_mbpp(record)


def _is_of_reasoning_gym(record: Record) -> bool:
    return isinstance(record["metadata"], Mapping) and "source_dataset" in record["metadata"]


def _is_taco(record: Record) -> bool:
    return "raw_tags" in record or "skill_types" in record


_SHAPES = {
    Format.HUMANEVAL: _Shape(
        functions.humaneval, frozenset({"task_id", "prompt", "entry_point", "test"}), _is_humaneval
    ),
    Format.MBPP: _Shape(functions.mbpp, frozenset({"task_id"}), _is_mbpp),
    Format.APPS: _Shape(
        programs.apps, frozenset({"question", "input_output", "starter_code"}), lambda record: not _is_taco(record)
    ),
    Format.TACO: _Shape(programs.taco, frozenset({"question", "input_output", "starter_code"}), _is_taco),
    Format.CODECONTESTS: _Shape(
        programs.codecontests, frozenset({"name", "public_tests", "private_tests", "generated_tests"})
    ),
    Format.LIVECODEBENCH: _Shape(
        livecodebench.livecodebench, frozenset({"question_content", "public_test_cases", "private_test_cases"})
    ),
    Format.BIGCODEBENCH: _Shape(
        functions.bigcodebench, frozenset({"task_id", "complete_prompt", "instruct_prompt", "test"})
    ),
    Format.KODCODE: _Shape(functions.kodcode, frozenset({"question", "solution", "test", "test_info"})),
    Format.GSM8K: _Shape(
        answers.gsm8k, frozenset({"question", "answer"}), lambda record: "####" in str(record["answer"])
    ),
    Format.MATH: _Shape(
        answers.math, frozenset({"problem", "solution", "level"}), lambda record: "\\boxed" in str(record["solution"])
    ),
    Format.NL4OPT: _Shape(answers.nl4opt, frozenset({"en_question", "en_answer"})),
    Format.SUDOKU: _Shape(puzzles.sudoku, frozenset({"Puzzle", "Solution"})),
    Format.COUNTDOWN: _Shape(puzzles.countdown, frozenset({"nums", "target"})),
    Format.REASONING_GYM: _Shape(
        puzzles.reasoning_gym, frozenset({"question", "answer", "metadata"}), _is_of_reasoning_gym
    ),
    Format.OPEN_R1: _Shape(trainers.open_r1, frozenset({"verification_info"})),
    Format.VERL: _Shape(trainers.verl, frozenset({"data_source", "reward_model"})),
}


def task_of_record(name: Format, record: Record) -> Document:
    """Return the task document that a record of a published format means; pure, and nothing of it is run.

    Raises InvalidRequest, with the field as its path, for a record that is not of the format.
    """
    try:
        return _SHAPES[name].read(record)
    except (AttributeError, TypeError, LookupError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidRequest(
            f"the record is not of the format {name}: {error}", fix="check --format against the file"
        ) from error


def formats_of(record: Record) -> tuple[Format, ...]:
    """Return the formats whose marks a record has: none of them for a task of Assay, which has a `verifier` or an `id`
    beside fields of its own."""
    if "verifier" in record or "id" in record:
        return ()
    return tuple(name for name, shape in _SHAPES.items() if shape.fields <= record.keys() and shape.has_more(record))
