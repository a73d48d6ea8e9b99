"""The verifier `math`: does the completion's answer have the value of the right one?"""

from collections.abc import Sequence

from assay.errors import TaskFault
from assay.sandboxes.interface import Slot
from assay.schema import Verdict
from assay.verifiers.maths.asking import versions
from assay.verifiers.maths.extraction import after_reasoning, extract
from assay.verifiers.maths.judgement import Gold, Judgement, judge_answer, read_gold
from assay.verifiers.maths.reading import tidy
from assay.verifiers.maths.symbolic import Questions
from assay.verifiers.maths.task import MathTask
from assay.verifiers.remembered import Remembered
from assay.verifiers.rules.rule import Scored, Term, conclude

_TERMS = (Term("accuracy", 0, 1, "1 if the answer has the value of the right one"),)
_REMEMBERED = 10_000  # golds; a few kB each at most
_SHOWN = 80


class MathVerifier:
    """Judges answers of mathematics. Thread-safe: it remembers, per task content, how its gold reads."""

    name = "math"
    version = "1"
    task_model = MathTask

    def __init__(self) -> None:
        self._golds = Remembered[Gold](_REMEMBERED)

    def terms(self, task: MathTask) -> Sequence[Term]:
        """Return the one term, accuracy."""
        del task
        return _TERMS

    def judge(self, task: MathTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault, InfraFault and Inconclusive."""
        questions = Questions(slot, task.limits)
        gold = self._gold(task, questions)
        text = after_reasoning(completion, task.reasoning)
        found = None if text is None else extract(text, task.extract, task.tag)
        answer = "" if found is None else tidy(found)
        if not answer:
            where = ", ".join(task.extract)
            scored = Scored({"accuracy": 0.0}, answered=False, message=f"there is no answer ({where})")
            return self._conclude(task, scored, questions)
        judged, learned = judge_answer(task, gold, answer, questions)
        if learned is not gold:
            self._golds.put(task.content_hash(), learned)
        return self._conclude(task, _scored(judged, answer), questions)

    def _gold(self, task: MathTask, questions: Questions) -> Gold:
        """Return the gold as it reads. Raises TaskFault if it cannot be judged by."""
        known = self._golds.get(task.content_hash())
        if known is None:
            known = read_gold(task, questions)
            self._golds.put(task.content_hash(), known)
        return _usable(known)

    def _conclude(self, task: MathTask, scored: Scored, questions: Questions) -> Verdict:
        verdict = conclude(task, _TERMS, scored)
        libraries = {**versions(), **questions.versions}
        return verdict.model_copy(update={"usage": questions.usage, "versions": libraries})


def _usable(gold: Gold) -> Gold:
    """Return a gold. Raises TaskFault if it cannot be judged by."""
    if gold.fault:
        raise TaskFault(f"the task's answer cannot be judged by: {gold.fault}")
    return gold


def _scored(judged: Judgement, answer: str) -> Scored:
    shown = answer if len(answer) <= _SHOWN else answer[:_SHOWN] + "..."
    message = (
        "" if judged.is_equal else f"the answer {shown!r} is not the right one{judged.reason and ': '}{judged.reason}"
    )
    return Scored({"accuracy": float(judged.is_equal)}, message=message, flags=judged.flags)
