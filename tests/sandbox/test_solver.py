"""Programs that call solvers, in real jails: honest ones in every library, and those that set out to do harm."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from process_trees import descendants
from published import CASES, present
from solver_programs import RARE

from assay.cli.conformity.judging import Judge
from assay.cli.conformity.runner import read_entries, run_entries
from assay.cli.local import Scorer
from assay.clients.formats.table import Format, task_of_record
from assay.outcomes import Outcome
from assay.sandboxes.jails import JailPool
from assay.sandboxes.pool import Pool
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.requirements import missing_modules

OWN = Path(__file__).parents[1] / "cases" / "solver.jsonl"
NEEDED = ("scipy", "highspy", "pulp", "ortools", "pyomo", "cvxpy")

pytestmark = [
    pytest.mark.jail,
    pytest.mark.skipif(bool(missing_modules(NEEDED)), reason="needs the extra `solvers`"),
]

Solve = Callable[..., Verdict]
LP = "from scipy.optimize import linprog\nr = linprog([-3, -2], A_ub=[[1, 1], [1, 3], [1, 0]], b_ub=[4, 6, 3])\n"
NOTHING_FEASIBLE = "from scipy.optimize import linprog\nr = linprog([1], A_ub=[[1], [-1]], b_ub=[1, -3])\n"
NO_END = "from scipy.optimize import linprog\nlinprog([-1])\n"
ENDLESS_SOLVER = """
import random
from pulp import LpBinary, LpProblem, LpVariable, PULP_CBC_CMD, lpSum
random.seed(1)
p = LpProblem()
x = [LpVariable(f'x{i}', cat=LpBinary) for i in range(50)]
p += lpSum(x)
for _ in range(5):
    weights = [2 * random.randint(1, 10**6) for _ in x]
    p += lpSum(w * v for w, v in zip(weights, x)) == sum(weights) // 4 * 2 + 1
p.solve(PULP_CBC_CMD(msg=0))
print('OBJ:', 11)
"""
KILLS_PARENT = LP + "import os, signal\nprint('OBJ:', 11, flush=True)\nos.kill(os.getppid(), signal.SIGKILL)\n"
FORKS = LP + "import os\nprint('OBJ:', 11, flush=True)\nwhile True:\n    os.fork()\n"
HOG = LP + "print('OBJ:', 11, flush=True)\nb = []\nwhile True:\n    b.append(bytearray(10**7))\n"
FLOOD = LP + "print('OBJ:', 11, flush=True)\nwhile True:\n    print('x' * 10**5)\n"
DAEMON = LP + (
    "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\n    os._exit(0)\nprint('OBJ:', -r.fun)\n"
)
REPORT_FLOOD = LP + (
    "import os\nfor fd in range(3, 20):\n    try:\n        os.set_blocking(fd, False)\n"
    "        os.write(fd, b'x' * 10**6)\n"
    "    except OSError:\n        pass\nprint('OBJ:', 11)\n"
)
FORGED = "import scipy.optimize as s\ns.linprog([1], bounds=[(11, 11)])\nprint('OBJ:', 11)\n"


@pytest.fixture
def solve(pool: Pool) -> Solve:
    """Judge a program: `solve(code, gold, **fields)`."""
    registry = default_registry()

    def run(code: str, gold: object = 11, **fields: object) -> Verdict:
        task = registry.parse_task({"id": "t", "verifier": "solver", "gold_objective": gold, **fields})
        text = f"<think>x</think><model>m</model><python>\n{code}\n</python>"
        with pool.slot() as slot:
            return registry.get("solver").judge(task, text, slot)

    return run


@pytest.fixture
def scorer(pool: JailPool) -> Scorer:
    """A scorer over all verifiers."""
    registry = default_registry()
    return Scorer(registry, Evaluator(registry, pool), pool.size)


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """No process is left of what a test ran, beside the hosts of its pool."""
    yield
    names = [_name(pid) for pid in descendants(os.getpid())]
    assert [name for name in names if name.startswith(("assay-solver_p", "cbc"))] == []


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


@pytest.mark.parametrize(
    ("code", "limits", "outcome"),
    [
        pytest.param(ENDLESS_SOLVER, {"wall_s": 2}, Outcome.TIMEOUT, id="solver that does not end"),
        pytest.param(HOG, {"memory_mb": 256}, Outcome.MEMORY_EXCEEDED, id="memory"),
        pytest.param(FORKS, {"processes": 16, "wall_s": 5}, Outcome.RUNTIME_ERROR, id="fork bomb"),
        pytest.param(FLOOD, {}, Outcome.OUTPUT_EXCEEDED, id="output"),
        pytest.param(LP + "while True: pass", {"wall_s": 1}, Outcome.TIMEOUT, id="loop after solving"),
        pytest.param("print('OBJ:', 11)\nimport os; os._exit(3)", {}, Outcome.RUNTIME_ERROR, id="exit"),
        pytest.param("print('OBJ:', 11)\nraise MemoryError", {}, Outcome.MEMORY_EXCEEDED, id="memory error"),
        pytest.param("import no_such_solver", {}, Outcome.RUNTIME_ERROR, id="missing module"),
        pytest.param("print('OBJ:' 11)", {}, Outcome.COMPILE_ERROR, id="no program"),
    ],
)
@pytest.mark.usefixtures("nothing_left")
def test_what_does_not_end_well_earns_its_format_alone(
    solve: Solve, code: str, limits: dict[str, float], outcome: Outcome
) -> None:
    """Whatever it printed before."""
    verdict = solve(code, limits=limits)

    assert verdict.outcome is outcome, verdict
    assert verdict.terms == {"format": 1.0, "execution": 0.0, "accuracy": 0.0}
    assert verdict.reward == 0.5


@pytest.mark.parametrize(
    ("code", "outcome", "reward"), [(LP + "print('OBJ:', -r.fun)", "passed", 1.0), ("print(1)", "failed", 0.0)]
)
def test_problems_of_data_sets_are_right_or_wrong(pool: Pool, code: str, outcome: str, reward: float) -> None:
    """The rewards of `assay score --format nl4opt`: nothing for a program that merely runs."""
    registry = default_registry()
    task = registry.parse_task(task_of_record(Format.NL4OPT, {"en_question": "Two crops?", "en_answer": "11"}))

    with pool.slot() as slot:
        verdict = registry.get("solver").judge(task, f"```python\n{code}\n```", slot)

    assert (verdict.outcome, verdict.reward) == (outcome, reward)


@pytest.mark.usefixtures("nothing_left")
def test_a_program_that_kills_its_parent_harms_nobody(solve: Solve) -> None:
    """It may not, and has crashed; the next attempt is judged as ever."""
    verdict = solve(KILLS_PARENT)

    assert verdict.outcome is Outcome.RUNTIME_ERROR
    assert solve(LP + "print('OBJ:', -r.fun)").reward == 3.5


@pytest.mark.usefixtures("nothing_left")
def test_what_a_program_leaves_running_ends_with_it(solve: Solve) -> None:
    """The program ended well."""
    assert solve(DAEMON).outcome is Outcome.PASSED


def test_a_flooded_report_is_the_programs_own_fault(solve: Solve) -> None:
    """What it does to the socket that tells of solvers it does to itself."""
    verdict = solve(REPORT_FLOOD)

    assert verdict.outcome is Outcome.RUNTIME_ERROR
    assert verdict.reward == 0.5


def test_a_task_may_forbid_modules(solve: Solve) -> None:
    """Nothing is paid then, not even the format."""
    verdict = solve("import subprocess\n" + LP, forbid=["subprocess"])

    assert (verdict.outcome, verdict.reward) == (Outcome.VIOLATION, 0.0)


def test_a_printed_number_is_not_enough(solve: Solve) -> None:
    """Unless the profile pays it: by default a solver must have been called."""
    assert solve("print('OBJ:', 11)").reward == 1.5
    assert solve("print('OBJ:', 11)", profile="sirl/paper").reward == 3.5


@pytest.mark.parametrize("name", RARE)
def test_solvers_that_are_rarely_called_count_too(solve: Solve, name: str) -> None:
    """With what they found."""
    assert solve(RARE[name], solver_call="value").reward == 3.5


@pytest.mark.parametrize(
    "call", ["nnls([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0])", "fmin(lambda x: x[0] ** 2, [1.0], disp=0)",
             "root_scalar(lambda x: x - 1, bracket=[0, 3])", "brentq(lambda x: x - 1, 0, 3)",
             "least_squares(lambda x: x - 1, [0.0])", "curve_fit(lambda x, a: a * x, [1, 2], [2, 4])"]
)  # fmt: skip
def test_all_that_solves_in_scipy_counts(solve: Solve, call: str) -> None:
    """Whatever it is called; and what only measures does not."""
    assert solve(f"from scipy.optimize import *\n{call}\nprint('OBJ: 11')").reward == 3.5
    assert solve("from scipy.optimize import rosen\nrosen([1, 1])\nprint('OBJ: 11')").reward == 1.5


def test_what_other_processes_call_is_not_heard(solve: Solve) -> None:
    """Functions go to them as ever, and the message says why nothing is paid."""
    code = (
        "from concurrent.futures import ProcessPoolExecutor\nfrom scipy.optimize import linprog\n"
        "with ProcessPoolExecutor(1) as pool:\n"
        "    print('OBJ:', pool.submit(linprog, [1.0], bounds=[(11, None)]).result().fun)\n"
    )

    verdict = solve(code)

    assert verdict.reward == 1.5
    assert "those that it starts are not listened to" in verdict.message


def test_the_known_limit_of_it(solve: Solve) -> None:
    """A solver that is asked for the guess answers with it: `optimum` is for what that must not win."""
    assert solve(FORGED).reward == 3.5
    assert solve(FORGED, solver_call="value").reward == 3.5


def test_what_the_solver_found_may_be_asked_for(solve: Solve) -> None:
    """But for its sign; another number is not paid, whatever was solved."""
    assert solve(LP + "print('OBJ:', -r.fun)", solver_call="value").reward == 3.5
    assert solve(LP + "print('OBJ:', 12)", gold=12, solver_call="value").reward == 1.5
    assert solve(LP + "print('OBJ:', 12)", gold=12).reward == 3.5


@pytest.mark.parametrize(
    ("code", "gold", "reward"),
    [
        (NOTHING_FEASIBLE + "print('OBJ: infeasible')", None, 3.5),
        (NOTHING_FEASIBLE + "print('OBJ:', r.fun)", None, 3.5),
        (NOTHING_FEASIBLE, None, 1.5),
        (NOTHING_FEASIBLE + "print('OBJ: unbounded')", "unbounded", 1.5),
        (NOTHING_FEASIBLE + "print('OBJ: -inf')", "unbounded", 1.5),
        ("print('OBJ: infeasible')", None, 1.5),
        (NO_END + "print('OBJ: unbounded')", "unbounded", 3.5),
        (NO_END + "print('OBJ: inf')", "unbounded", 3.5),
        (NO_END, "unbounded", 1.5),
        (NO_END + "print('OBJ: infeasible')", None, 1.5),
        (LP + "print('OBJ:', 11)", "unbounded", 1.5),
        (LP + "print('OBJ:', 11)", None, 1.5),
        ("from scipy.optimize import linprog\nprint('OBJ:', linprog([1]).fun)", 0, 3.5),
    ],
)
def test_golds_without_a_number_and_of_0(solve: Solve, code: str, gold: object, reward: float) -> None:
    """A solver must have said which of the two it is, and the program too; 0 can be met."""
    assert solve(code, gold=gold).reward == reward


@pytest.mark.parametrize(
    ("code", "reward"),
    [
        (LP + "def solve():\n    return -r.fun", 3.5),
        (LP + "solve = -r.fun", 3.5),
        (LP + "import numpy\ndef solve():\n    return numpy.float64(11)", 3.5),
        (LP + "def solve():\n    return 'eleven'", 1.5),
        (LP + "def solve():\n    return 11, [3, 1]", 1.5),
        (LP + "def solve(x):\n    return 11", 1.5),
        (LP + "def solve():\n    raise ValueError", 0.5),
        (LP + "print('OBJ:', 11)", 1.5),
        (LP + "def solve():\n    return float('nan')", 1.5),
        (LP + "def solve():\n    while True: pass", 0.5),
    ],
)
def test_returned_objectives(solve: Solve, code: str, reward: float) -> None:
    """What raises there is a program that did not end well; what is not there, or no number, is not told."""
    verdict = solve(code, objective="returned", limits={"wall_s": 2})

    assert verdict.reward == reward, verdict


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (LP + "def solve():\n    return int('eleven')", "ValueError: invalid literal for int() with base 10: 'eleven'"),
        (LP + "linprog([1], A_ub=[[1, 2]], b_ub=[1])", "ValueError: Invalid input for linprog"),
    ],
)
def test_tracebacks_show_no_frames_of_ours(solve: Solve, code: str, message: str) -> None:
    """Where this service lies on its machine is nobody's business, nor do its lines help to mend a program."""
    verdict = solve(code, objective="returned")

    assert verdict.message.startswith(message), verdict
    assert "solver_program" not in verdict.stderr, verdict.stderr
    assert "watching" not in verdict.stderr, verdict.stderr


def test_values_of_variables_are_paid_by_their_share(solve: Solve) -> None:
    """Only with the right objective."""
    fields = {"profile": "sirl/code-stage2", "gold_solution": {"a": 3, "b": 1}}
    printed = LP + "print('SOLUTION:', {'x': 3.0, 'y': 0})\nprint('OBJ:', %s)"

    assert solve(printed % "-r.fun", **fields).terms == {"execution": 1.0, "accuracy": 1.0, "solution": 0.5}
    assert solve(printed % "7", **fields).terms == {"execution": 1.0, "accuracy": 0.0, "solution": 0.0}


@pytest.mark.parametrize("flavour", ["solvers", "modelling", "highs"])
def test_warm_interpreters_have_one_thread(flavour: str) -> None:
    """They fork by a raw clone, which other threads would not survive; nor does a library hold a descriptor."""
    code = (
        "import os\nfrom assay.sandboxes.flavours import modules_of\nfrom assay.sandboxes.interface import Role\n"
        "from assay.sandboxes.zygote import import_warm\nbefore = set(os.listdir('/proc/self/fd'))\n"
        f"import_warm(modules_of(Role.CANDIDATE, {flavour!r}))\n"
        "assert len(os.listdir('/proc/self/task')) == 1\n"
        "assert set(os.listdir('/proc/self/fd')) == before, os.listdir('/proc/self/fd')\n"
    )
    environment = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PATH": os.environ["PATH"]}

    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", [OWN, pytest.param(CASES / "solver.jsonl", marks=pytest.mark.shared)])
def test_cases_agree(scorer: Scorer, path: Path) -> None:
    """Every line of the repository's own file, and of the published one."""
    entries = read_entries([present(path)])

    reports = run_entries(entries, Judge(scorer))

    assert {report.id: list(report.problems) for report in reports if report.problems} == {}
