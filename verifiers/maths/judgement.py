"""One answer against the gold: the fast path, and what is left for the symbolic process."""

from dataclasses import dataclass, replace

from assay.errors import TaskFault
from assay.verifiers.maths.assignments import assigned
from assay.verifiers.maths.building import is_scalar
from assay.verifiers.maths.choices import choice_of_answer, choice_of_gold
from assay.verifiers.maths.comparison import DIFFERENT, Alternative, Alternatives, matches
from assay.verifiers.maths.extraction import Extraction, extract
from assay.verifiers.maths.nodes import Node, Number, Numeral, Words
from assay.verifiers.maths.raising import numeral
from assay.verifiers.maths.reading import MOST_CHARACTERS, Manner, Reading, manners, plain_manner, read, tidy, words_of
from assay.verifiers.maths.scalars import has_value
from assay.verifiers.maths.symbolic import Questions, Said
from assay.verifiers.maths.task import MathTask
from assay.verifiers.maths.tokens import Unreadable
from assay.verifiers.maths.transform import without_marks
from assay.verifiers.maths.units import unit_names
from assay.verifiers.rules.rule import UNDECIDED

_MOST_WORDS = 3  # of a gold that is not marked as text
_MOST_FOREIGN = 1000
_POINTING = frozenset(
    {"see", "refer", "attached", "figure", "diagram", "picture", "image", "graph", "table", "above", "below", "answers",
     "vary", "various", "proof", "omitted"}
)  # fmt: skip
"""Words of prose that points elsewhere."""
_PLACEHOLDERS = frozenset(
    {"n/a", "na", "tbd", "todo", "unknown", "null", "nan", "not available", "no answer", "not given"}
)
_MARKED = ("\\text", "\\mbox", "\\mathrm")


@dataclass(frozen=True)
class Gold:
    """A right answer, read in each manner; or the reason why it cannot be judged by."""

    text: str = ""
    readings: tuple[tuple[Manner, Reading], ...] = ()
    choice: str | None = None
    """Its letter, if it is one of multiple choice."""
    words: str = ""
    """What it says, if that is words."""
    fault: str = ""
    is_settled: bool = False
    """Whether the processes are known to be able to deal with it alone."""


@dataclass(frozen=True)
class Judgement:
    """Whether an answer is right, and why not."""

    is_equal: bool
    reason: str = ""
    flags: tuple[str, ...] = ()


def read_gold(task: MathTask, questions: Questions) -> Gold:
    """Read the right answer of a task, or say why it cannot be judged by.

    Raises TaskFault if reading it takes too much, InfraFault, Inconclusive.
    """
    places = (Extraction.LAST_BOX, Extraction.HASHES, Extraction.LAST_FORMULA, Extraction.WHOLE)
    text = tidy(task.answer if task.gold_delimited else extract(task.answer, places) or "")
    if words_of(text) in _PLACEHOLDERS:
        return Gold(text, fault=f"{text!r} stands for an answer that is not there")
    choice = choice_of_gold(text)
    readings = tuple((manner, read(text, manner)) for manner in manners(text, task.style))
    known = tuple((manner, reading) for manner, reading in readings if reading.node is not None)
    if not known and readings[0][1].is_unfamiliar and len(text) <= _MOST_FOREIGN:
        told = questions.read(text)
        if told.said is Said.EXHAUSTED:
            raise TaskFault(f"reading {text[:80]!r} is too much: its process {told.message}")
        known = () if told.node is None else ((plain_manner(task.style), Reading(text, told.node)),)
    if not known:
        return Gold(text, fault=readings[0][1].fault)
    node = known[0][1].node
    if isinstance(node, Words) and _is_prose(text, node):
        return Gold(text, fault=f"{text[:80]!r} is prose; mark an answer in words as \\text{{...}}")
    if node is not None and not has_value(without_marks(node, percent_is_value=True)):
        return Gold(text, fault=f"{text[:80]!r} has no value")
    said = node.text if isinstance(node, Words) else ""
    return Gold(text, known, choice, said)


def _is_prose(text: str, node: Words) -> bool:
    said = node.text.split()
    return not any(mark in text for mark in _MARKED) and (len(said) > _MOST_WORDS or not _POINTING.isdisjoint(said))


def judge_answer(task: MathTask, gold: Gold, text: str, questions: Questions) -> tuple[Judgement, Gold]:
    """Judge a tidy answer that is not empty; also return the gold with what was learned about it.

    Raises TaskFault if the gold is too much for the processes, InfraFault, Inconclusive.
    """
    if gold.choice is not None:
        return Judgement(choice_of_answer(text) == gold.choice), gold
    if text == gold.text:
        return Judgement(True), gold
    if gold.words:
        return Judgement(words_of(text) == gold.words), gold
    if len(text) > MOST_CHARACTERS:
        return Judgement(False, f"it is longer than {MOST_CHARACTERS} characters"), gold
    readings = tuple((manner, read(text, manner)) for manner in manners(text, task.style))
    if all(reading.node is None for _, reading in readings):
        if not (readings[0][1].is_unfamiliar and _may_be_foreign(gold, text)):
            return Judgement(False, readings[0][1].fault), gold
        answer = questions.read(text)
        if answer.said is Said.EXHAUSTED:
            return Judgement(False, f"reading it {answer.message}", (UNDECIDED,)), gold
        if answer.node is None:
            return Judgement(False, readings[0][1].fault), gold
        readings = ((plain_manner(task.style), Reading(text, answer.node)),)
    found = _compare(task, gold, readings)
    if not found or () in found:
        return Judgement(bool(found)), gold
    return _ask(found, gold, questions)


def _may_be_foreign(gold: Gold, text: str) -> bool:
    values = (reading.node for _, reading in gold.readings)
    return len(text) <= _MOST_FOREIGN and any(map(_is_value, values))


def _is_value(node: Node | None) -> bool:
    named = None if node is None else assigned(node)
    return node is not None and is_scalar(node if named is None else named.value)


def _compare(task: MathTask, gold: Gold, readings: tuple[tuple[Manner, Reading], ...]) -> Alternatives:
    """Compare every reading of the one with every reading of the other that goes with it."""
    found: list[Alternative] = []
    for gold_manner, gold_reading in gold.readings:
        for manner, reading in readings:
            both_logs = "log" in gold.text and "log" in reading.text
            if reading.node is None or (both_logs and manner.log_base != gold_manner.log_base):
                continue
            if task.units == "match" and _units_of(gold_reading) != _units_of(reading):
                continue
            for option in _compare_readings(task, gold_reading.node, reading.node):
                if not option:
                    return (option,)
                found.append(option)
    return tuple(found)


def _units_of(reading: Reading) -> tuple[str, ...]:
    return unit_names(reading.units, reading.text)


def _compare_readings(task: MathTask, gold: Node | None, answer: Node) -> Alternatives:
    assert gold is not None
    found: Alternatives = DIFFERENT
    for percent_is_value in {"value": (True,), "ignore": (False,), "either": (True, False)}[task.percent]:
        one, other = (without_marks(node, percent_is_value=percent_is_value) for node in (gold, answer))
        if task.base == "implied" and isinstance(one, Numeral):
            other = _in_base(other, one.base)
        found += matches(one, other, task.rules)
    return found


def _in_base(node: Node, base: int) -> Node:
    """Return digits without a base in that base, where they can be."""
    if not isinstance(node, Number) or node.value.denominator != 1 or node.value < 0:
        return node
    try:
        return numeral(str(node.value.numerator), str(base))
    except Unreadable:
        return node


def _ask(found: Alternatives, gold: Gold, questions: Questions) -> tuple[Judgement, Gold]:
    """Let the processes decide. What they cannot decide for the answer's sake is not equal, and says so.

    Raises TaskFault if the gold alone is too much for them.
    """
    answer = questions.decide(found)
    if answer.said in (Said.YES, Said.NO):
        return Judgement(answer.said is Said.YES), gold
    if answer.said is Said.EXHAUSTED and not gold.is_settled:
        alone = questions.settle([pair.gold for pair in found[0]])
        if alone.said is Said.EXHAUSTED:
            raise TaskFault(f"{gold.text[:80]!r} alone is too much for a comparison: its process {alone.message}")
        gold = replace(gold, is_settled=True)
    reason = f"the comparison {answer.message}" if answer.message else "it cannot be decided"
    return Judgement(False, reason, (UNDECIDED,)), gold
