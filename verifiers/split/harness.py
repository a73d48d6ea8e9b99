"""Running function tests one after the other against the candidate, and telling the supervisor what became of each."""

import json
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol  # tests return values of any type

from assay.outcomes import Outcome
from assay.verifiers.split.definitions import bound_name
from assay.verifiers.split.json_value import equals_json
from assay.verifiers.split.loading import describe
from assay.verifiers.split.namespace import Namespace
from assay.verifiers.split.plan import Broken, Compiled, Plan, filename_of
from assay.verifiers.split.report import Finished, Report
from assay.verifiers.split.subject import Call, Raised, Subject, mark_of, outcome_of
from assay.verifiers.split.wire import LEAF_TYPES

_SHOWN = 300  # characters of a test's line, or of a value, in a message
_MOST_SHOWN = 1000  # characters and parts of a value that is shown
_SIZED = frozenset({str, bytes, list, tuple, dict})


class Reporter(Protocol):
    """The way to the supervisor."""

    def tell(self, report: Report) -> None:
        """Send a report."""
        ...

    def replace_candidate(self, index: int, reason: str) -> int | None:
        """Say that the candidate is gone; return the test to go on with once there is a new one, or None to stop."""
        ...


@dataclass(frozen=True)
class Harness:
    """Everything a style needs to run its tests."""

    plan: Plan
    compiled: Compiled
    namespace: Namespace
    subject: Subject
    reporter: Reporter


def run_tests(harness: Harness) -> None:
    """Run the tests of any style but pytest. Raises Broken for what turns out to be the task's own fault."""
    match harness.compiled.style:
        case "calls":
            _run_calls(harness)
        case "check":
            _run_each(harness, 1, lambda _: _check(harness))
        case "expr":
            _run_each(harness, len(harness.compiled.codes), lambda index: _evaluate(harness, index))
        case _:
            _run_each(harness, len(harness.compiled.codes), lambda index: _execute(harness, index))


def _attempt(harness: Harness, run: Callable[[int], tuple[Outcome, str]], index: int) -> tuple[Outcome, str]:
    """Return what the test comes to, or the outcome of what it raised."""
    try:
        return run(index)
    except Broken:
        raise
    except BaseException as error:  # noqa: BLE001 - tests raise anything, SystemExit and the candidate's end included
        return outcome_of(error), _explain(error, harness.plan, harness.compiled)


def _run_each(harness: Harness, count: int, run: Callable[[int], tuple[Outcome, str]]) -> None:
    subject, reporter = harness.subject, harness.reporter
    index: int | None = harness.plan.start
    while index is not None and index < count:
        subject.reset_clock()
        outcome, message = _attempt(harness, run, index)
        if subject.gone is not None:
            index = reporter.replace_candidate(index, subject.gone)
            harness.namespace.renew()
        else:
            reporter.tell(Finished(index, *mark_of(subject, outcome, message)))
            index += 1


def _evaluate(harness: Harness, index: int) -> tuple[Outcome, str]:
    if eval(harness.compiled.codes[index], harness.namespace):
        return Outcome.PASSED, ""
    return Outcome.FAILED, f"not true: {harness.plan.sources[index].strip()[:_SHOWN]}"


def _execute(harness: Harness, index: int) -> tuple[Outcome, str]:
    if index in harness.compiled.judged:
        return _evaluate(harness, index)
    exec(harness.compiled.codes[index], harness.namespace)
    return Outcome.PASSED, ""


def _check(harness: Harness) -> tuple[Outcome, str]:
    namespace = harness.namespace
    try:
        exec(harness.compiled.codes[0], namespace)
        check = namespace["check"]
    except Exception as error:
        if harness.subject.was_asked:
            raise
        raise Broken(f"test_code does not run: {describe(error)}") from error
    check(namespace.candidate())
    return Outcome.PASSED, ""


def _run_calls(harness: Harness) -> None:
    subject, reporter, entry = harness.subject, harness.reporter, bound_name(harness.plan.entry)
    index: int | None = harness.plan.start
    while index is not None and index < len(harness.plan.cases):
        subject.reset_clock()
        if not subject.has(entry):
            index = _finish(
                harness, index, Outcome.RUNTIME_ERROR, f"NameError: name {harness.plan.entry!r} is not defined"
            )
            continue
        try:
            calls = _arguments(harness.plan, index)
            for answer in subject.call_many(entry, calls, ahead=harness.plan.ahead):
                outcome, message = _judge_call(answer, harness.plan.cases[index][1])
                if subject.gone is not None:
                    break
                index = _finish(harness, index, outcome, message)
                subject.reset_clock()
        except BaseException as error:  # noqa: BLE001 - what is in the place of the function may raise anything
            if subject.gone is None:
                index = _finish(harness, index, outcome_of(error), describe(error))
        if subject.gone is not None:
            index = reporter.replace_candidate(index, subject.gone)


def _finish(harness: Harness, index: int, outcome: Outcome, message: str) -> int:
    harness.reporter.tell(Finished(index, outcome, message))
    return index + 1


def _arguments(plan: Plan, start: int) -> Iterator[Call]:
    """Build the arguments of each case afresh, so that equal cases share nothing."""
    for call, _ in plan.cases[start:]:
        args, kwargs = json.loads(call)
        yield tuple(args), kwargs


def _judge_call(answer: Any, expected: str) -> tuple[Outcome, str]:
    if isinstance(answer, Raised):
        return outcome_of(answer.error), describe(answer.error)
    if equals_json(answer.value, json.loads(expected)):
        return Outcome.PASSED, ""
    return Outcome.FAILED, f"returned {_show(answer.value)}, expected {expected[:_SHOWN]}"


def _show(value: object) -> str:
    """Show plain values only, throughout: the repr of anything else is the candidate's to compute."""
    if isinstance(value, list | tuple | dict) and len(value) > 20:
        return f"a {type(value).__name__} of {len(value)}"
    if type(value) in (str, bytes):
        value = value[:_SHOWN]  # type: ignore[index]  # either can be cut
    try:
        return repr(value)[:_SHOWN] if _is_little(value) else f"a {type(value).__name__}"
    except ValueError:  # an integer of thousands of digits
        return f"a {type(value).__name__}"


def _is_little(value: object) -> bool:
    """Say whether a value holds plain data and nothing else, and not much of it."""
    left, parts = _MOST_SHOWN, [value]
    while parts:
        part: Any = parts.pop()
        kind = type(part)
        left -= 1 + (len(part) if kind in _SIZED else 0)
        if left < 0 or (kind not in LEAF_TYPES and kind not in _SIZED):
            return False
        if kind is dict:
            parts += [*part, *part.values()]
        elif kind is list or kind is tuple:
            parts += part
    return True


def _explain(error: BaseException, plan: Plan, compiled: Compiled) -> str:
    """Return the error's last line and the line of the test that met it."""
    text = describe(error)
    names = {filename_of(compiled.style, number): number for number in range(len(plan.sources))}
    for frame, number in reversed(list(traceback.walk_tb(error.__traceback__))):
        index = names.get(frame.f_code.co_filename)
        if index is not None:
            lines = compiled.texts[index].split("\n")
            line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
            return f"{text}: {line[:_SHOWN]}" if line else text
    return text
