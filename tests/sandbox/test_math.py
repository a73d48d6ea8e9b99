"""Mathematics with its processes: proofs, limits, the conformity files, bombs among honest answers."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from published import CASES, DATA, present

from assay.cli.conformity.judging import Judge
from assay.cli.conformity.runner import read_entries, run_entries
from assay.cli.inputs import Batch
from assay.cli.local import Scorer, build_jobs
from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.jails import JailPool
from assay.schema import BatchOptions, Verdict
from assay.settings import Settings
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.requirements import missing_modules

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.jail,
    pytest.mark.skipif(bool(missing_modules(["sympy", "latex2sympy2_extended"])), reason="needs the extra `math`"),
]

Run = Callable[..., Verdict]
QUICK = {"wall_s": 0.5, "cpu_s": 0.5}
ENDLESS = r"\sum_{k=1}^{\infty}\frac{\sin(k^2)}{k^{1.01}}"
BOMBS = (
    r"9^{9^{9^{9}}}", r"9^{9^{9}}", r"(10^{9})!", r"((10^9)!)!", r"10^{5^{5^{5^{5}}}}", r"2^{2^{2^{2^{2^{2}}}}}",
    r"\frac{1}{9^{9^{9}}}",
    r"\sqrt{9^{9^{9}}}", r"\ln(9^{9^{9^{9}}})", r"\sin(10^{10^{10}})", r"\binom{10^9}{10^8}", r"10^{10^{100}}+1",
    "(" * 3000,
    "9" * 100_000, r"\sqrt{" * 300 + "2" + "}" * 300, "x+" * 50_000, r"\prod_{k=1}^{999} k^{k^{k}}",
    r"\frac{1}{2}^{9^{9^{9}}}",
)  # fmt: skip


@pytest.fixture
def judge(pool: JailPool) -> Run:
    """Judge an answer in a box: `judge(answer, boxed, **fields)`."""
    registry = default_registry()
    verifier = registry.get("math")

    def run(answer: str, boxed: str, **fields: object) -> Verdict:
        task = registry.parse_task({"id": "t", "verifier": "math", "answer": answer, **fields})
        with pool.slot() as slot:
            return verifier.judge(task, f"So \\boxed{{{boxed}}}.", slot)

    return run


@pytest.fixture
def scorer(pool: JailPool) -> Scorer:
    """A scorer over all verifiers."""
    registry = default_registry()
    return Scorer(registry, Evaluator(registry, pool), pool.size)


@pytest.mark.parametrize(
    ("answer", "boxed", "reward"),
    [
        (r"\sqrt2+\sqrt3", r"\sqrt{5+2\sqrt6}", 1.0),
        (r"\sqrt2", r"\sqrt2+10^{-40}", 0.0),
        (r"e^{\pi\sqrt{163}}", "262537412640768744", 0.0),
        ("1", r"\sin^2 t+\cos^2 t", 1.0),
        (r"\frac13", r"\int_0^1 x^2\,dx", 1.0),
        ("1", r"\lim_{x\to 0}\frac{\sin x}{x}", 1.0),
        (r"\frac{\pi^2}{6}", r"\sum_{n=1}^{\infty}\frac{1}{n^2}", 1.0),
        (r"\frac{n(n+1)}{2}", r"\sum_{k=1}^{n}k", 1.0),
        ("2x", r"\frac{d}{dx}x^2", 1.0),
        ("2x", r"\frac{d}{dx}x^3", 0.0),
        (r"\{\sqrt8, 3\}", r"3, 2\sqrt2", 1.0),
        (r"[\sqrt8, 3]", r"2\sqrt2\le x\le 3", 1.0),
        ("0.746824", r"\int_0^1 e^{-x^2}\,dx", 1.0),
    ],
)
def test_proofs(judge: Run, answer: str, boxed: str, reward: float) -> None:
    """By digits, by algebra, by the grammar of math-verify."""
    verdict = judge(answer, boxed)

    assert verdict.reward == reward, verdict.message
    assert {"math-verify", "latex2sympy2-extended", "sympy", "mpmath"} <= verdict.versions.keys()
    assert verdict.usage.cpu_s > 0


def test_an_answer_that_does_not_end_is_worth_nothing(judge: Run) -> None:
    """It says so, and the next attempt in the slot is judged as ever."""
    verdict = judge("5", ENDLESS, limits=QUICK)

    assert (verdict.outcome, verdict.reward, verdict.flags) == (Outcome.FAILED, 0.0, ("undecided",))
    assert judge(r"\sqrt8", r"2\sqrt2").reward == 1.0


def test_a_gold_that_does_not_end_is_the_tasks_fault(judge: Run) -> None:
    """Only where it has to be evaluated: word for word it is itself."""
    with pytest.raises(TaskFault, match="alone is too much"):
        judge(ENDLESS, "5", limits=QUICK)
    assert judge(ENDLESS, ENDLESS, limits=QUICK).reward == 1.0


def documents(tasks: list[tuple[str, str]]) -> Iterator[tuple[dict[str, object], dict[str, object]]]:
    """Tasks with an attempt each."""
    for number, (answer, boxed) in enumerate(tasks):
        yield (
            {"id": str(number), "verifier": "math", "answer": answer, "limits": QUICK},
            {"task_id": str(number), "completion": f"So \\boxed{{{boxed}}}."},
        )


def test_bombs_cost_honest_answers_nothing(scorer: Scorer) -> None:
    """Every honest one is paid, no bomb is, and none is null."""
    honest = [(r"\sqrt8", r"2\sqrt2"), ("5", "5.0"), ("2,5", "5,2"), (r"\frac12", "0.5")]
    mixed = [pair for bomb in BOMBS for pair in (*honest, ("5", bomb), (r"\sqrt2", bomb))]
    tasks, attempts = zip(*documents(mixed), strict=True)

    results = list(
        scorer.score(build_jobs(scorer.registry, Batch(tasks, attempts), Settings()), BatchOptions(cache=False))
    )

    rewards = {result.index: result.reward for result in results}
    assert [rewards[index] for index in range(len(mixed))] == [1.0, 1.0, 1.0, 1.0, 0.0, 0.0] * len(BOMBS)


def deviations(path: Path, scorer: Scorer) -> dict[str, list[str]]:
    """What deviates, by the id of the line."""
    entries = read_entries([path])
    assert entries
    return {report.id: list(report.problems) for report in run_entries(entries, Judge(scorer)) if report.problems}


def test_own_cases_agree(scorer: Scorer) -> None:
    """Every line of the repository's own file."""
    assert deviations(ROOT / "tests" / "cases" / "math.jsonl", scorer) == {}


@pytest.mark.shared
def test_shared_cases_agree(scorer: Scorer) -> None:
    """Every line of the file beside the checkout."""
    path = present(CASES / "math.jsonl")

    assert deviations(path, scorer) == {}


@pytest.mark.shared
def test_labels_of_model_solutions(scorer: Scorer) -> None:
    """5,276 solutions of GSM8K by four models, labelled by their authors: every label agrees."""
    path = present(DATA / "gsm8k_example_model_solutions.jsonl")
    tasks, attempts, labels = [], [], []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        gold = row["ground_truth"].rpartition("A: ")[2]
        tasks.append({"id": str(number), "verifier": "math", "answer": gold, "extract": "answer_line"})
        for model in (key for key in row if isinstance(row[key], dict)):
            attempts.append({"task_id": str(number), "attempt": model, "completion": row[model]["solution"]})
            labels.append(row[model]["is_correct"])

    jobs = build_jobs(scorer.registry, Batch(tuple(tasks), tuple(attempts)), Settings())
    results = {result.index: result for result in scorer.score(jobs, BatchOptions(cache=False))}

    wrong = {
        f"{results[index].task_id}/{results[index].attempt}"
        for index, label in enumerate(labels)
        if (results[index].reward == 1.0) is not label
    }
    assert len(labels) == 5276
    assert wrong == set()


@pytest.mark.shared
def test_golds_of_math_500(scorer: Scorer) -> None:
    """Each is read, and is what the box of its solution holds."""
    path = present(DATA / "math500_test.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    tasks = tuple({"id": row["unique_id"], "verifier": "math", "answer": row["answer"]} for row in rows)
    attempts = tuple({"task_id": row["unique_id"], "completion": row["solution"]} for row in rows)

    jobs = build_jobs(scorer.registry, Batch(tasks, attempts), Settings())
    results = scorer.score(jobs, BatchOptions(cache=False))

    assert [result.task_id for result in results if result.reward != 1.0] == []
