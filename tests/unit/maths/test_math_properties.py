"""Any answer gets a sound verdict: no exception, no null, no word of it evaluated, in bounded time."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maths_attempts import REGISTRY

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Exit, Launch
from assay.schema import Verdict
from assay.verifiers.maths.reading import manners, read, tidy
from assay.verifiers.maths.written_numbers import Style

ROOT = Path(__file__).parents[3]
GOLDS = ("5", r"\sqrt2", "x^2", "2,5", "(1,4)", "[0,4)", "x+y=2", r"\begin{pmatrix}1&2\end{pmatrix}", "2:3",
r"\text{no}", "B",
         r"\pm2", "25\\%", "9^{9^{9}}")  # fmt: skip
PIECES = (
    "1", "2", "9", "3.14", "x", "y", "n", "\\pi", "e", "i", "+", "-", "*", "/", "^", "{", "}", "(", ")", "[", "]",
    "\\frac", "\\sqrt",
    "\\sin", "\\ln", "!", "%", "=", "<", "\\le", "\\cup", "\\infty", ",", " ", "\\text{cm}", "\\pm", "|", "_",
    "\\{", "\\}",
    "\\begin{pmatrix}", "\\end{pmatrix}", "&", "\\\\", "\\sum_{k=1}^{9}", "\\int_0^1", "dx", "\\binom", "1e99",
    ":", "\\in",
    "\\mathbb{R}", "^\\circ", " and ", " or ", "\\lfloor", "\\rfloor", "U", "\\gcd", "100!", "\\boxed{",
    "__import__('os')", "½", "²",
    "\ud83d", "\x00", "é", "\u202e",
)  # fmt: skip


class ExhaustedSlot(FakeSlot):
    """Every process ends at a limit: what is judged is the worker's part."""

    def start(self, launch: Launch) -> FakeChild:
        """End by a limit."""
        self.children = [FakeChild(Exit(None, 9), cut_by=Outcome.TIMEOUT)]
        return super().start(launch)


def judge(answer: str, completion: str) -> Verdict:
    """Judge where no process ever gets anywhere; a gold alone is not blamed for that."""
    verifier = REGISTRY.get("math")
    task = REGISTRY.parse_task({"id": "t", "verifier": "math", "answer": answer})
    return verifier.judge(task, completion, ExhaustedSlot())


def judged(answer: str, completion: str) -> Verdict | None:
    """Judge; None where a process was asked, for here it finds the gold alone too much."""
    try:
        return judge(answer, completion)
    except TaskFault as fault:
        if "alone is too much" not in str(fault):
            raise
        return None


def check(answer: str, boxed: str) -> None:
    """Fail unless the verdict is sound."""
    verdict = judged(answer, f"\\boxed{{{boxed}}}")
    if verdict is None:
        return
    assert verdict.reward in (0.0, 1.0)
    assert verdict.outcome in (Outcome.PASSED, Outcome.FAILED, Outcome.NO_ANSWER)


@pytest.mark.parametrize("gold", GOLDS)
@settings(deadline=None, max_examples=80, derandomize=True)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=12))
def test_pieces_of_mathematics(gold: str, pieces: list[str]) -> None:
    """Whatever they add up to."""
    check(gold, "".join(pieces))


@settings(deadline=None, max_examples=100, derandomize=True)
@given(text=st.text(max_size=60), gold=st.sampled_from(GOLDS))
def test_any_text(text: str, gold: str) -> None:
    """Of any script."""
    check(gold, text)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.integers(-(10**30), 10**30), st.integers(1, 10**15))
def test_a_number_equals_itself_however_it_is_written(top: int, bottom: int) -> None:
    """And no other one."""
    fraction = f"\\frac{{{top}}}{{{bottom}}}"

    assert judge(fraction, f"\\boxed{{{3 * top}/{3 * bottom}}}").reward == 1.0
    assert judge(fraction, f"\\boxed{{{top + 1}/{bottom}}}").reward == 0.0
    assert judge(str(top), f"\\boxed{{{top:,}}}").reward == 1.0


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.lists(st.integers(-99, 99), min_size=2, max_size=8), st.randoms(use_true_random=False))
def test_sets_do_not_know_an_order(items: list[int], random: object) -> None:
    """Any permutation of a set is the set; of a tuple, only itself."""
    shuffled = list(items)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis' own type of it is private
    written, mixed = (", ".join(map(str, each)) for each in (items, shuffled))

    assert judge(f"\\{{{written}\\}}", f"\\boxed{{\\{{{mixed}\\}}}}").reward == 1.0
    assert judge(f"({written})", f"\\boxed{{({mixed})}}").reward == float(items == shuffled)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(a=st.sampled_from(GOLDS[:9]), b=st.sampled_from(GOLDS[:9]))
def test_golds_of_different_kinds_are_different(a: str, b: str) -> None:
    """Each is only itself."""
    assert judge(a, f"\\boxed{{{b}}}").reward == float(a == b)


BODIES = ("9", "(", "((1)", "x+", "1,", "{", "\\frac", "\\sqrt{", "^", "-", "1/7+", "100!+", "!", "%", "|",
          "\\pm1", "1:2:", "x=", "1<", "\\cup(1,2)", "\\text{a}", "a b ", "\\\\", "²", "½", "9^", "\\sin", "1 ",
          "[0,1)", "é", "\\{")  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_long_answers_end(body: str) -> None:
    """At the limit of what is read, and a megabyte long."""
    for size in (3900, 10**6):
        text = f"\\boxed{{{body * (size // len(body))}}}"
        started = time.process_time()

        for gold in ("5", "2,5", r"\sqrt2"):
            judged(gold, text)

        assert time.process_time() - started < 2.0  # a tenth of it is usual


@settings(deadline=None, max_examples=100, derandomize=True)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=30))
def test_reading_is_total(pieces: list[str]) -> None:
    """Every text reads as something or has a fault."""
    text = "".join(pieces)
    for manner in manners(text, Style()):
        reading = read(tidy(text), manner)
        assert (reading.node is None) == bool(reading.fault)


def test_no_module_evaluates_text() -> None:
    """Neither ours nor a library's evaluator is called anywhere on the way."""
    forbidden = re.compile(
        r"\b(?:eval|exec|parse_expr|sympify|literal_eval|pickle|lambdify|compile)\s*\(|SIGALRM|import threading"
    )
    allowed = {"verifier.py": {"import threading"}}  # a lock around what is remembered of golds
    found = {
        f"{path.name}: {match.group()}"
        for path in sorted((ROOT / "verifiers" / "maths").glob("*.py"))
        for match in forbidden.finditer(
            path.read_text(encoding="utf-8").replace("re.compile(", "").replace("_re.compile(", "")
        )
        if match.group() not in allowed.get(path.name, set())
    }

    assert found == set()
