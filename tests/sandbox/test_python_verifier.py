"""The python verifier in real jails: what single processes cannot show."""

import pytest
from python_judging import Judge, judging, outcomes

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.pool import Pool
from assay.sandboxes.running import RunningChild
from assay.schema import Limits
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.extraction import read_completion
from assay.verifiers.split.assembly import Sources
from assay.verifiers.split.casting import Casting
from assay.verifiers.split.loading import pack_sources
from assay.verifiers.split.placement import Placement
from assay.verifiers.split.plan import Plan
from assay.verifiers.split.session import Session
from assay.verifiers.surroundings import Surroundings

pytestmark = pytest.mark.jail


@pytest.fixture(scope="module")
def judge(pool: Pool) -> Judge:
    """Judge a completion: `judge(completion, **task fields)`."""
    return judging(pool)


_THREE = ("f(1) == 1", "f(0) == 0", "f(2) == 2")
_LOOP = "def f(x):\n    while x == 0: pass\n    return x\n"


@pytest.mark.parametrize(
    ("bad", "outcome"),
    [
        ("while True: pass", "timeout"),
        ("import time; time.sleep(60)", "timeout"),
        ("import os; os._exit(0)", "runtime_error"),
        ("import os; os.kill(os.getpid(), 9)", "runtime_error"),
        ("import os; os.close(3); __import__('time').sleep(60)", "runtime_error"),
        ("import os; os.write(3, b'\\xff' * 100)", "runtime_error"),
        ("print('x' * 2_000_000)", "output_exceeded"),
        ("b = bytearray(700_000_000); b[::4096] = b'x' * len(b[::4096])", "memory_exceeded"),
    ],
)
def test_a_test_that_ends_the_candidate_costs_only_itself(judge: Judge, bad: str, outcome: str) -> None:
    """The tests before keep their credit, the tests after get a fresh candidate."""
    verdict = judge(f"def f(x):\n    if x == 0:\n        {bad}\n    return x\n", tests=_THREE, limits={"wall_s": 1.5})

    assert outcomes(verdict) == ["passed", outcome, "passed"]
    assert verdict.reward == pytest.approx(2 / 3)


def test_test_variables_survive_a_fresh_candidate(judge: Judge) -> None:
    """What tests imported and assigned is theirs; only the completion's state is lost."""
    tests = ("import math\nxs = [f(4)]", "f(0)", "assert math.sqrt(xs[0]) == 2", "assert f(3) == 3")

    assert outcomes(judge(_LOOP, tests=tests, limits={"wall_s": 0.5})) == ["passed", "timeout", "passed", "passed"]


def test_after_three_cut_tests_the_rest_is_not_run(judge: Judge) -> None:
    """`max_limit_hits` bounds what an endless loop can cost."""
    verdict = judge(_LOOP, tests=["f(0)"] * 5 + ["f(1)"], limits={"wall_s": 0.3})

    assert outcomes(verdict) == ["timeout"] * 3 + ["failed"] * 3


def test_the_attempts_wall_time_bounds_all_tests(judge: Judge) -> None:
    """Tests that each keep their own limit are ended together."""
    completion = "import time\ndef f(x):\n    time.sleep(0.4)\n    return x\n"
    verdict = judge(completion, tests=["f(1) == 1"] * 60, limits={"attempt_wall_s": 1})

    found = outcomes(verdict)
    begun = found.count("passed")  # two, where the machine has time
    assert found == ["passed"] * begun + ["timeout"] * (60 - begun)
    assert begun < 60


def test_stop_on_fail_runs_nothing_after_the_first_failure(judge: Judge) -> None:
    """The rest counts as not passed."""
    verdict = judge("def f(x): return x", tests=("f(1) == 1", "f(1) == 2", "f(1) == 1"), limits={"stop_on_fail": True})

    assert outcomes(verdict) == ["passed", "failed", "failed"]


@pytest.mark.parametrize(
    ("completion", "outcome"),
    [
        ("while True: pass", "timeout"),
        ("import os; os._exit(0)", "runtime_error"),
        ("xs = []\nwhile True: xs.append(bytearray(1_000_000))", "memory_exceeded"),
        ("def f(:", "compile_error"),
        ("", "no_answer"),
    ],
)
def test_a_completion_that_cannot_be_loaded_fails_every_test(judge: Judge, completion: str, outcome: str) -> None:
    """Loading is timed like a test and tried once."""
    verdict = judge(completion, tests=_THREE, entry_point="f", limits={"wall_s": 1, "memory_mb": 128})

    assert (verdict.outcome, verdict.reward, outcomes(verdict)) == (outcome, 0.0, [outcome] * 3)


@pytest.mark.parametrize("memory_mb", [1, 4])
def test_what_the_interpreter_takes_by_itself_is_no_fault_of_the_completion(judge: Judge, memory_mb: int) -> None:
    """It sleeps, so that its memory is looked at."""
    completion = "import time\ntime.sleep(0.2)\ndef f(x): return x"

    verdict = judge(completion, tests=_THREE, entry_point="f", limits={"memory_mb": memory_mb})

    assert (verdict.outcome, verdict.reward, verdict.message) == ("passed", 1.0, "")


def test_a_test_that_never_ends_by_itself_is_cut(judge: Judge) -> None:
    """A loop in the test that the completion keeps going is the attempt's fault, and the next test still runs."""
    verdict = judge(
        "def f(): return False", tests=("while not f(): pass", "f() is False"), limits={"cpu_s": 1, "attempt_wall_s": 5}
    )

    assert verdict.reward == 0.0 or outcomes(verdict) == ["timeout", "passed"]
    assert verdict.outcome is Outcome.TIMEOUT


def test_a_missing_package_is_flagged(judge: Judge) -> None:
    """It is the completion's fault, and can be told from others."""
    verdict = judge("import no_such_package\ndef f(x): return x", tests=_THREE)

    assert (verdict.outcome, verdict.reward, verdict.flags) == (Outcome.RUNTIME_ERROR, 0.0, ("missing_module",))


def test_forbidden_names_cost_everything(judge: Judge) -> None:
    """The program is not run."""
    verdict = judge("import os\ndef f(x): return x", tests=_THREE, forbid=["os"])

    assert (verdict.outcome, verdict.reward) == (Outcome.VIOLATION, 0.0)


@pytest.mark.parametrize(
    "fields",
    [
        {"tests": []},
        {"cases": []},
        {"tests": ["f(1"]},
        {"tests": ["import nosuch"]},
        {"tests": ["f(1)"], "prompt": "import nosuch\n\ndef f(x):\n    '''doc'''\n"},
        {"test_code": "def verify(c): ..."},
        {"test_file": "import solution\n"},
        {"test_file": "import nosuch\n\ndef test_a(): ...\n"},
        {"test_file": "import pytest\n@pytest.mark.skip\ndef test_a(): ...\n"},
        {"test_file": "def test_a(:\n"},
        {"cases": [{"stdin": "", "stdout": ""}], "checker": "def verify(): ..."},
    ],
)
def test_faults_of_the_task_are_no_reward(judge: Judge, fields: dict[str, object]) -> None:
    """They are found before the completion is judged."""
    with pytest.raises(TaskFault):
        judge("def f(x): return x", **fields)


def test_a_prompt_that_does_not_end_is_no_reward(pool: Pool) -> None:
    """Tests have only so long before the first of them begins: twenty seconds, less here."""
    plan = Plan("expr", ("f(1)",), (), "solution", "f", "while True: x = 1\n", 10.0, may_share=False)
    completion = Sources(read_completion("def f(x): return x"), "f", ("f",), plan.prompt)
    payload = pack_sources(completion, plan.module, ())

    with pool.slot() as slot:
        casting = Casting(plan, payload, Limits(), Surroundings("bare", False), Placement.RESIDENT, set_up_s=0.5)
        with pytest.raises(TaskFault):
            Session(slot, casting).judge()


def test_patching_tests_run_shared_and_flagged(judge: Judge) -> None:
    """They cannot be split from the module under test."""
    file = (
        "import solution\nfrom unittest.mock import patch\n"
        "def test_a():\n    with patch('solution.g', lambda: 5):\n        assert solution.f() == 5\n"
    )
    verdict = judge("def g(): return 1\ndef f(): return g()", test_file=file)

    assert (verdict.reward, verdict.flags) == (1.0, ("shared_oracle",))


def test_a_gold_that_only_passes_shared_makes_the_task_shared(judge: Judge) -> None:
    """What the list of needs does not foresee, the gold shows; the next completion is judged the same way."""
    gold = "import gc\nLEVEL = gc.get_threshold()\ndef f(): return gc.get_threshold()[0]\n"
    fields = {"tests": ("import gc\ngc.set_threshold(123)\nassert f() == 123",), "gold": gold}
    first = judge(gold, **fields)
    second = judge("def f(): return 123", **fields)
    third = judge("def f(): return 1", **fields)

    assert [verdict.flags for verdict in (first, second, third)] == [("shared_oracle",)] * 3
    assert [verdict.reward for verdict in (first, second, third)] == [1.0, 1.0, 0.0]


def test_a_completion_in_shared_mode_cannot_blame_the_task_or_the_service(judge: Judge) -> None:
    """What its process says once it runs there is its own doing."""
    completion = """
import gc
from assay.verifiers.split.report import {0}
for found in gc.get_objects():
    if type(found).__name__ == "Supervisor":
        found.tell({0}("not mine"))
def f(x): return 0
"""

    verdicts = [
        judge(completion.format(kind), tests=("f(1) == 1",), oracle="shared") for kind in ("Fault", "TaskBroken")
    ]

    assert [(verdict.reward, verdict.outcome) for verdict in verdicts] == [(0.0, Outcome.RUNTIME_ERROR)] * 2


def test_shared_mode_keeps_the_rules(judge: Judge) -> None:
    """Limits per test, fresh processes and exits work as in split mode."""
    completion = "import os\ndef f(x):\n    if x == 0: os._exit(0)\n    while x == 3: pass\n    return x\n"
    verdict = judge(completion, tests=("f(1) == 1", "f(0)", "f(3)", "f(2) == 2"), oracle="shared", limits={"wall_s": 1})

    assert outcomes(verdict) == ["passed", "runtime_error", "timeout", "passed"]


_CHECKER = """
def check(stdin, expected, output):
    numbers = [int(part) for part in output.split()]
    if not numbers:
        return False, 'nothing'
    if numbers[0] == 77:
        while True: pass
    return 0.5 if numbers[0] == 1 else sum(numbers) == int(stdin)
"""


@pytest.mark.parametrize(
    ("program", "reward"),
    [
        ("n = int(input())\nprint(n - 3, 3)", 1.0),
        ("print(1)", 0.5),
        ("print('x')", 0.0),
        ("print()", 0.0),
        ("n = int(input())\nprint(77 if n == 10 else n)", 0.5),
        ("raise SystemExit(1)", 0.0),
    ],
)
def test_a_checker_judges_outputs(judge: Judge, program: str, reward: float) -> None:
    """Several right answers, partial scores; what the checker cannot read it does not accept."""
    cases = [{"stdin": "10", "stdout": ""}, {"stdin": "20", "stdout": ""}]
    verdict = judge(program, cases=cases, checker=_CHECKER, limits={"cpu_s": 1})

    assert verdict.reward == reward


@pytest.mark.parametrize("words", ["score:0.99 x", "score:1e6", "score:x", "0.9 x", "1.0"])
def test_what_a_checker_quotes_is_no_score(judge: Judge, words: str) -> None:
    """A note may be the output's own words."""
    checker = "def check(stdin, expected, output): return False, output.strip()"

    verdict = judge(f"print({words!r})", cases=[{"stdin": "", "stdout": ""}], checker=checker)

    assert (verdict.outcome, verdict.reward) == (Outcome.FAILED, 0.0)
    assert words in verdict.message


_PARSES = "def check(stdin, expected, output): return int(output) == int(expected)"
_WEARS_OUT = """
seen = []
def check(stdin, expected, output):
    seen.append(output)
    return int(seen[0]) == int(expected)
"""


@pytest.mark.parametrize(
    ("checker", "stdout", "outcome"),
    [
        ("def check(stdin, expected, output): return undefined", "4", "task_error"),
        ("def check(stdin, expected, output):\n    while True: pass", "4", "task_error"),
        ("def check(stdin, expected, output): raise SystemExit", "4", "task_error"),
        ("def check(stdin, expected, output): return undefined", "", "failed"),
        (_PARSES, "4", "failed"),
        (_WEARS_OUT, "4", "failed"),
    ],
)
@pytest.mark.parametrize("verifier", ["python", "stdio"])
def test_a_checker_that_fails_on_the_tasks_own_answer_is_the_tasks_fault(
    pool: Pool, verifier: str, checker: str, stdout: str, outcome: str
) -> None:
    """Not so one that only an output leads astray, even where that stays with it; nor where there is no answer."""
    document = {"id": "t", "verifier": verifier, "cases": [{"stdin": "10", "stdout": stdout}], "checker": checker}

    registry = default_registry()
    task = registry.parse_task({**document, "limits": {"cpu_s": 1}})
    evaluation = Evaluator(registry, pool).evaluate(task, "print('x')")

    assert evaluation.verdict.outcome == outcome, evaluation.verdict.message
    assert evaluation.verdict.reward == (None if outcome == "task_error" else 0.0)


def test_weights_count_tests_differently(judge: Judge) -> None:
    """`scoring: weighted` with one weight per test."""
    verdict = judge("def f(x): return 1", tests=_THREE, scoring="weighted", weights=[3, 1, 0])

    assert verdict.reward == 0.75


_SLOW = """
def f(n):
    total = 0
    for i in range(n):
        total += i
    return total
"""


@pytest.mark.parametrize(
    "trick",
    [
        "",
        "import os\nfor _ in range(40):\n    if os.fork() == 0:\n        while True: pass\n",
        "import os\nos.nice(19)\n",
        "import time\ntime.monotonic = time.time = time.perf_counter = lambda: 0.0\n",
    ],
)
def test_a_completion_cannot_buy_time(judge: Judge, trick: str) -> None:
    """Crowding itself out, stepping back or turning the clock gains no second."""
    verdict = judge(trick + _SLOW, tests=["f(10**8) == 10**8 * (10**8 - 1) // 2"], limits={"attempt_wall_s": 0.5})

    assert (verdict.outcome, verdict.reward) == (Outcome.TIMEOUT, 0.0)


def test_loading_counts_towards_the_attempts_time(judge: Judge) -> None:
    """What is worked out while the module loads is not free."""
    completion = f"{_SLOW}ANSWER = f(10**8)\ndef f(n): return ANSWER\n"
    verdict = judge(completion, tests=["f(10**8) > 0"], entry_point="f", limits={"attempt_wall_s": 0.5})

    assert (verdict.outcome, verdict.reward) == (Outcome.TIMEOUT, 0.0)


def test_a_candidate_that_wears_the_oracle_out_fails(judge: Judge) -> None:
    """A load report of absurd size is no fault of the tests."""
    flood = "import os, struct\nbody = b'\\xdd' + struct.pack('>I', 60_000_000) + b'\\xc0' * 60_000_000\n"
    send = "data = struct.pack('>I', len(body)) + body\nwhile data: data = data[os.write(3, data):]\n"
    verdict = judge(flood + send, tests=["f() == 1"], entry_point="f")

    assert verdict.reward == 0.0


@pytest.mark.parametrize(
    "fields",
    [
        {"cases": [{"stdin": "", "stdout": ""}] * 4},
        {"tests": ["f() is None"] * 4},
        {"test_file": "from solution import f\n" + "".join(f"def test_{n}(): f()\n" for n in range(4))},
    ],
)
def test_time_without_a_core_is_not_the_attempts(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, fields: dict[str, object]
) -> None:
    """However a test is run, what the machine kept from it does not count against the tests after it."""
    monkeypatch.setattr(RunningChild, "starved_s", lambda _: 0.5)
    sleep = "import time\ntime.sleep(0.5)\n" if "cases" in fields else "import time\ndef f(): time.sleep(0.5)\n"

    verdict = judge(sleep, **fields, limits={"attempt_wall_s": 1.5})

    assert outcomes(verdict) == ["passed"] * 4
