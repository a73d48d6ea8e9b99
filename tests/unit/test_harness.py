"""Running function tests in order, against a completion in the same process."""

import types

import pytest

from assay.outcomes import Outcome
from assay.verifiers.split.harness import Harness, run_tests
from assay.verifiers.split.namespace import Namespace
from assay.verifiers.split.plan import Broken, Plan, compile_plan, run_imports
from assay.verifiers.split.prompt import Prompt
from assay.verifiers.split.report import Finished, Report
from assay.verifiers.split.subject import InProcess


class _Log:
    def __init__(self) -> None:
        self.reports: list[Report] = []

    def tell(self, report: Report) -> None:
        self.reports.append(report)

    def replace_candidate(self, index: int, reason: str) -> int | None:
        raise AssertionError(f"nothing is gone at {index}: {reason}")


def _plan(
    style: str,
    sources: tuple[str, ...] = (),
    cases: tuple[tuple[str, str], ...] = (),
    entry: str = "f",
    prompt: str = "",
) -> Plan:
    return Plan(style, sources, cases, "solution", entry, prompt, 1.0, may_share=False)


def _outcomes(plan: Plan, completion: str) -> list[Outcome]:
    module = types.ModuleType("solution")
    exec(completion, module.__dict__)
    subject = InProcess(module, None)
    namespace = Namespace(plan.entry, "tests")
    namespace.run_prompt(Prompt(plan.prompt, plan.entry))
    namespace.subject = subject
    log = _Log()
    run_tests(Harness(plan, compile_plan(plan), namespace, subject, log))
    return [report.outcome for report in log.reports if isinstance(report, Finished)]


_P, _F, _R, _M = Outcome.PASSED, Outcome.FAILED, Outcome.RUNTIME_ERROR, Outcome.MEMORY_EXCEEDED


def test_expressions_must_be_true() -> None:
    """A false one fails, a raising one is a runtime error, the others are not touched."""
    plan = _plan("", ("f(1) == 1", "f(1) == 2", "f()", "f(2)"))

    assert _outcomes(plan, "def f(x): return x") == [_P, _F, _R, _P]


def test_statements_share_one_namespace() -> None:
    """A later test sees what an earlier one assigned and imported."""
    plan = _plan("assert", ("import math\nx = f(4)", "assert math.sqrt(x) == 2", "assert x == 5", "raise ValueError"))

    assert _outcomes(plan, "def f(x): return x") == [_P, _P, _F, _R]


def test_check_gets_the_entry_point() -> None:
    """The one test passes when check() raises nothing."""
    code = "CASES = [1]\ndef check(candidate):\n    for x in CASES:\n        assert candidate(x) == x\n"

    assert _outcomes(_plan("check", (code,)), "CASES = []\ndef check(c): ...\ndef f(x): return 0") == [_F]


def test_calls_compare_by_json_value() -> None:
    """Arguments are built afresh for each case."""
    cases = (("[[[2, 1]], {}]", "[1, 2]"), ("[[[2, 1]], {}]", "[1, 2]"), ("[[], {}]", "null"))
    completion = "def f(xs):\n    out = tuple(sorted(xs))\n    xs.clear()\n    return out"

    assert _outcomes(_plan("calls", cases=cases), completion) == [_P, _P, _R]


def test_a_wrong_answer_is_described_by_nobody_but_us() -> None:
    """The repr of an object in it is not asked for, which could raise or never end; nor is much shown."""
    cases = tuple((f"[[{n}], {{}}]", "[5]") for n in range(4))
    completion = """
class R:
    def __repr__(self): raise KeyError("x")
def f(n):
    many = [[]]
    for _ in range(60): many = [many, many]
    return [[R()], {"a": (R(),)}, many, "x" * 10**6][n]
"""

    assert _outcomes(_plan("calls", cases=cases), completion) == [_F, _F, _F, _F]


def test_names_that_the_completion_shadows_stay_the_builtins() -> None:
    """A completion cannot lend the tests its own sorted, len or AssertionError."""
    liar = "class Yes:\n    def __eq__(self, o): return True\ndef sorted(x): return Yes()\n"
    completion = f"{liar}len = sorted\ndef f(): return {{}}"

    assert _outcomes(_plan("", ("sorted(f()) == [1]", "len(f()) == 3")), completion) == [_F, _F]


def test_an_entry_point_may_shadow_a_builtin() -> None:
    """The asked-for `sum` is the completion's; lacking it, the builtin does not step in."""
    plan = _plan("", ("sum(3) == 6", "sum([1]) == 1"), entry="sum")

    assert _outcomes(plan, "def sum(n): return n * (n + 1) // 2") == [_P, _R]
    assert _outcomes(plan, "") == [_R, _R]


def test_helpers_of_the_prompt_are_the_prompts() -> None:
    """A completion that redefines them changes nothing for the tests."""
    plan = _plan("", ("double(f(1)) == 2",), prompt="def double(x):\n    return 2 * x\n\ndef f(x):\n    ...\n")

    assert _outcomes(plan, "def double(x): return 2\ndef f(x): return 5") == [_F]


def test_names_nobody_defines_come_from_the_completion() -> None:
    """Further functions, and values as they are at that moment."""
    plan = _plan("", ("[f(), count][1] == 1", "[f(), count][1] == 2", "missing == 1"))

    assert _outcomes(plan, "count = 0\ndef f():\n    global count\n    count += 1") == [_P, _P, _R]


@pytest.mark.parametrize(("raised", "outcome"), [("SystemExit(0)", _R), ("KeyboardInterrupt", _R), ("MemoryError", _M)])
def test_whatever_a_test_raises_ends_only_that_test(raised: str, outcome: Outcome) -> None:
    """Exits and interrupts are errors of one test, running out of memory has its own word."""
    plan = _plan("", ("f(1)", "f(0) == 0"))

    assert _outcomes(plan, f"def f(x):\n    if x: raise {raised}\n    return x") == [outcome, _P]


@pytest.mark.parametrize(
    ("style", "sources"),
    [
        ("assert", ("assert f(1", "assert f(1)")),
        ("", ("f(1) ==",)),
        ("", ()),
        ("check", ("def verify(c): ...",)),
        ("expr", ("x = 1",)),
        ("pytest", ("def test_(:",)),
        ("assert", ("x = 1\0",)),
    ],
)
def test_tests_that_do_not_compile_are_the_tasks_fault(style: str, sources: tuple[str, ...]) -> None:
    """Nothing is run for a task with a broken test, no test, or no check()."""
    with pytest.raises(Broken):
        compile_plan(_plan(style, sources))


def test_a_test_code_that_raises_by_itself_is_the_tasks_fault() -> None:
    """The completion had no part in it."""
    with pytest.raises(Broken):
        _outcomes(_plan("check", ("x = 1 / 0\ndef check(c): ...",)), "def f(): ...")


def test_a_test_code_that_raises_over_the_completion_is_not() -> None:
    """A top-level call of the function under test is part of the test."""
    assert _outcomes(_plan("check", ("x = f()\ndef check(c): ...",)), "def f(): raise ValueError") == [_R]


@pytest.mark.parametrize("source", ["import nosuch", "from math import nosuch", "def check(c):\n    import nosuch.x"])
def test_imports_that_the_tests_lack_are_the_tasks_fault(source: str) -> None:
    """What every completion would miss is found before any is tried."""
    compiled = compile_plan(_plan("assert", (source,)))

    with pytest.raises(Broken):
        run_imports(compiled, "solution")


@pytest.mark.parametrize(
    "source",
    [
        "import solution.part",
        "from solution import x",
        "try:\n    import nosuch\nexcept ImportError: ...",
        "import math",
    ],
)
def test_other_imports_are_not_judged_beforehand(source: str) -> None:
    """The module under test is no dependency, and a guarded import may fail."""
    run_imports(compile_plan(_plan("assert", (source,))), "solution")


def test_indented_tests_are_dedented() -> None:
    """A test copied with its indentation is still a test."""
    assert _outcomes(_plan("assert", ("\n    x = f(1)\n    assert x == 1\n",)), "def f(x): return x") == [_P]


def test_a_lone_comparison_among_statements_must_be_true() -> None:
    """As a statement it could never fail; other expressions are run for their effect."""
    plan = _plan("assert", ("xs = f(1)", "xs.append(2)", "xs == [1, 2]", "xs == [3]", "not xs", "f(1) and xs[5] == 1"))

    assert _outcomes(plan, "def f(x): return [x]") == [_P, _P, _P, _F, _F, _R]


@pytest.mark.parametrize("source", ["", "\n", "# nothing here\n"])
def test_an_empty_test_is_the_tasks_fault(source: str) -> None:
    """It would pass whatever the completion does."""
    with pytest.raises(Broken):
        compile_plan(_plan("", ("f(1) == 1", source)))


def test_libraries_that_the_tests_forgot_to_import_are_real() -> None:
    """A completion's import makes the name known, its own idea of the library does not count."""
    liar = "class np:\n    allclose = staticmethod(lambda *a: True)\n"

    assert _outcomes(_plan("", ("np.allclose(f(), [1.0])",)), f"{liar}def f(): return [2.0]") == [_F]
    assert _outcomes(_plan("", ("np.allclose(f(), [1.0])",)), "def f(): return [1.0]") == [_R]
