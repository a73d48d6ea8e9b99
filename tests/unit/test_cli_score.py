"""`assay score` and `assay check`: typed jobs, results in order, and what golds show."""

import importlib.util
import json
import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.cli.checks.standings import Standing, exit_status, standing_of
from assay.cli.exits import Exit
from assay.cli.gates import Gates, floor
from assay.cli.inputs import Batch, read_batch
from assay.cli.local import Job, Needs, Scorer, build_jobs, builtin_registry, in_input_order, open_scorer
from assay.cli.remote import cancel_batch
from assay.cli.tally import Tally
from assay.errors import InvalidRequest, IsolationUnavailable
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.pool import SlotPool
from assay.schema import BatchOptions, Result
from assay.settings import Settings
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.fakes import ScriptedVerifier
from assay.verifiers.registry import Registry


@pytest.fixture
def scorer() -> Scorer:
    """A scorer over scripted verifiers and two fake slots."""
    registry = Registry([ScriptedVerifier("python"), ScriptedVerifier("run")])
    return Scorer(registry, Evaluator(registry, SlotPool([FakeSlot(), FakeSlot()])), 2)


def score(scorer: Scorer, tasks: Sequence[Any], attempts: Sequence[Any], **options: Any) -> list[Result]:
    """Score documents and return results in input order."""
    jobs = build_jobs(scorer.registry, Batch(tuple(tasks), tuple(attempts)), Settings())
    return list(in_input_order(scorer.score(jobs, BatchOptions(**options))))


RULE = {"id": "r", "verifier": "classification", "label": "cat"}
NO_ISOLATION = Settings(sandbox="landlock")  # weaker than the settings allow, wherever this runs


def jobs_for(*tasks: dict[str, Any]) -> list[Job]:
    """One attempt for each task."""
    attempts = tuple({"task_id": task["id"], "completion": "<answer>cat</answer>"} for task in tasks)
    return build_jobs(builtin_registry(), Batch(tasks, attempts), NO_ISOLATION)


def needs_of(jobs: list[Job]) -> Needs:
    """What judging them takes."""
    return Needs.of(job.task for job in jobs)


def test_rules_are_scored_without_a_sandbox() -> None:
    """Where no task runs anything, nothing is asked of the machine's isolation."""
    jobs = jobs_for(RULE)

    with open_scorer(NO_ISOLATION, builtin_registry(), needs_of(jobs)) as scorer:
        (result,) = scorer.score(jobs, BatchOptions())

    assert (result.reward, result.sandbox, result.seq) == (1.0, "", 1)


def test_one_program_among_rules_needs_a_sandbox() -> None:
    """Nothing is judged where one of the attempts could not be isolated."""
    jobs = jobs_for(RULE, {"id": "p", "verifier": "run"})

    with pytest.raises(IsolationUnavailable), open_scorer(NO_ISOLATION, builtin_registry(), needs_of(jobs)):
        pass


def test_rules_are_judged_beside_programs() -> None:
    """A batch of both gives every result once, each with its own `seq`."""
    registry = Registry([ScriptedVerifier("python"), builtin_registry().get("classification")])
    mixed = Scorer(registry, Evaluator(registry, SlotPool([FakeSlot()])), 1)
    attempts = [{"task_id": name, "completion": "right"} for name in ("p", "r", "p", "r")]

    results = score(mixed, [{"id": "p"}, RULE], attempts)

    assert [result.verifier for result in results] == ["python", "classification"] * 2
    assert sorted(result.seq for result in results) == [1, 2, 3, 4]


def test_refusals_name_the_files(scorer: Scorer, tmp_path: Path) -> None:
    """A fault is found by the file that holds it."""
    tasks, attempts = tmp_path / "t.json", tmp_path / "a.json"
    tasks.write_text('{"id": "t"}')
    attempts.write_text('{"id": "other", "completion": ""}')
    batch = read_batch(tasks, attempts)

    with pytest.raises(InvalidRequest) as caught:
        build_jobs(scorer.registry, batch, Settings())

    assert caught.value.path == f"{attempts}[0].task_id"


def test_only_attempts_that_require_what_is_not_here_are_not_judged(scorer: Scorer) -> None:
    """Without the module they would only look wrong; the rest of the file is scored."""
    tasks = [{"id": "a", "requires": ["json", "no_such_module.inner"]}, {"id": "b", "requires": ["json"]}]
    results = score(scorer, tasks, [{"id": name, "completion": "right"} for name in "ab"])

    assert [(result.outcome, result.reward) for result in results] == [("infra_error", None), ("passed", 1.0)]
    assert "requires the module no_such_module.inner, which this Python does not have" in results[0].message


def test_a_module_that_an_extra_brings_names_the_extra(scorer: Scorer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says which extra it is and how a checkout gets it, or where else to score."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)

    (result,) = score(scorer, [{"id": "a", "requires": ["highspy"]}], [{"id": "a", "completion": "right"}])

    assert re.search(r"the module highspy, .*pip install '\.\[solvers\]'.* through a service", result.message)


def test_results_are_in_input_order_with_seq_of_completion(scorer: Scorer) -> None:
    """`index` follows the input, `seq` numbers the results without gaps."""
    results = score(scorer, [{"id": "t"}], [{"id": "t", "completion": "right"} for _ in range(20)])

    assert [result.index for result in results] == list(range(20))
    assert sorted(result.seq for result in results) == list(range(1, 21))
    assert [result.attempt for result in results] == [str(n) for n in range(20)]
    assert {result.group for result in results} == {"t"}


def test_labels_groups_and_metadata_are_the_attempts_own(scorer: Scorer) -> None:
    """What the attempt names is handed back."""
    attempt = {
        "task_id": "t", "completion": "wrong", "attempt": "A", "group": "g", "truncated": True, "metadata": {"k": 1},
    }  # fmt: skip

    (result,) = score(scorer, [{"id": "t"}], [attempt])

    assert (result.attempt, result.group, result.metadata) == ("A", "g", {"k": 1})
    assert result.flags == ("truncated",)
    assert result.reward == 0.0


def test_masked_truncated_attempts_have_no_reward(scorer: Scorer) -> None:
    """`mask_truncated` makes the reward of a truncated attempt null."""
    attempt = {"task_id": "t", "completion": "right", "truncated": True}

    (result,) = score(scorer, [{"id": "t"}], [attempt], mask_truncated=True)

    assert result.reward is None


def test_output_of_passed_attempts_is_dropped_unless_kept(scorer: Scorer) -> None:
    """`keep_output` keeps it."""
    attempt = {"task_id": "t", "completion": json.dumps({"outcome": "passed", "reward": 1.0, "stdout": "x"})}

    (dropped,) = score(scorer, [{"id": "t"}], [attempt])
    (kept,) = score(scorer, [{"id": "t"}], [attempt], keep_output=True)

    assert (dropped.stdout, kept.stdout) == ("", "x")


@pytest.mark.parametrize(
    ("tasks", "attempts", "path"),
    [
        ([{"id": "t"}, {"id": "t", "prompt": "other"}], [], "tasks[1].id"),
        ([{"id": "t"}], [{"id": "u", "completion": ""}], "attempts[0].task_id"),
        ([{"id": "t"}], [{"id": "t", "completion": None}], "attempts[0].completion"),
        ([{"id": "t"}], [{"id": "t", "completion": "", "extra": 1}], "attempts[0].extra"),
        ([{"verifier": "python"}], [], "tasks[0].id"),
        ([{"id": "t", "verifier": "psychic"}], [], "tasks[0].verifier"),
    ],
)
def test_inconsistent_batches_are_refused(scorer: Scorer, tasks: list[Any], attempts: list[Any], path: str) -> None:
    """The refusal names the path of the fault."""
    with pytest.raises(InvalidRequest) as caught:
        build_jobs(scorer.registry, Batch(tuple(tasks), tuple(attempts)), Settings())

    assert caught.value.path == path


def test_equal_tasks_repeated_are_one_task(scorer: Scorer) -> None:
    """The same task twice is no contradiction."""
    task = {"id": "t", "prompt": "p"}

    assert len(score(scorer, [task, task], [{"id": "t", "completion": "right"}])) == 1


def test_stopping_early_cancels_the_rest(scorer: Scorer) -> None:
    """A consumer that goes away leaves nothing running."""
    jobs = build_jobs(
        scorer.registry, Batch(({"id": "t"},), tuple({"id": "t", "completion": "right"} for _ in "abc")), Settings()
    )
    results = scorer.score(jobs, BatchOptions())

    next(results)
    results.close()

    assert list(results) == []


@pytest.mark.parametrize(
    ("completion", "verifier", "standing"),
    [
        ("right", "python", Standing.SPLIT),
        ("right", "run", Standing.PLAIN),
        ("wrong", "python", Standing.BROKEN),
        ('{"outcome": "infra_error"}', "python", Standing.UNDECIDED),
    ],
)
def test_a_gold_says_how_its_task_is_judged(scorer: Scorer, completion: str, verifier: str, standing: Standing) -> None:
    """Split, plain, broken or undecided."""
    (result,) = score(scorer, [{"id": "t", "verifier": verifier}], [{"id": "t", "completion": completion}])

    assert standing_of(result) == standing


def test_a_shared_gold_is_told_by_its_flag(scorer: Scorer) -> None:
    """`shared_oracle` marks a task whose tests share the candidate's jail."""
    (result,) = score(scorer, [{"id": "t"}], [{"id": "t", "completion": "right"}])

    assert standing_of(result.model_copy(update={"flags": ("shared_oracle",)})) == Standing.SHARED


def test_check_tells_broken_from_undecided() -> None:
    """A broken task is 1, a fault of ours 3, tasks without gold are no fault."""
    assert exit_status({Standing.SPLIT: 3, Standing.NO_GOLD: 2}) == Exit.OK
    assert exit_status({Standing.BROKEN: 1}) == Exit.FOUND_FAULTS
    assert exit_status({Standing.BROKEN: 1, Standing.UNDECIDED: 1}) == Exit.OUR_FAULT


def test_an_interrupted_score_cancels_once_and_never_retries(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the service is gone, giving up a batch is one failed try and a line that says so."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    cancel_batch(url, None, "b1")

    assert "batch b1 was not cancelled" in capsys.readouterr().err


def test_the_summary_shows_rewards_per_group(scorer: Scorer) -> None:
    """Outcomes, the mean, and each group's rewards in input order."""
    attempts = [{"id": "t", "completion": text} for text in ("right", "wrong")]
    tally = Tally()
    for result in score(scorer, [{"id": "t"}], attempts):
        tally.add(result)

    assert list(tally.lines()) == [
        "2 attempts: passed 1, failed 1; mean reward 0.5000",
        "  group t: rewards 1 0",
    ]


@pytest.mark.parametrize("rewards", [[0.7] * 10, [1e16, 1.0, -1e16, 1.8], [-1e16, 1.8, 1.0, 1e16]])
def test_a_mean_hangs_on_no_order_and_no_rounding(scorer: Scorer, rewards: list[float]) -> None:
    """The mean of equal rewards is that reward, and passes a floor of it."""
    (result,) = score(scorer, [{"id": "t"}], [{"id": "t", "completion": "right"}])
    tally = Tally()
    for reward in rewards:
        tally.add(result.model_copy(update={"reward": reward}))

    assert tally.mean_reward == 0.7
    assert Gates(floor("0.7")).status(tally) == Exit.OK


def test_a_stream_of_jobs_is_read_as_it_is_judged(scorer: Scorer) -> None:
    """Only a few hundred jobs are held at once, however many there are, and every one is judged."""
    (job,) = build_jobs(scorer.registry, Batch(({"id": "t"},), ({"id": "t", "completion": "right"},)), Settings())
    read = done = most = 0

    def jobs() -> Iterator[Job]:
        nonlocal read
        for index in range(1_000):
            read += 1
            yield replace(job, place=replace(job.place, index=index))

    for _ in scorer.score_stream(jobs(), BatchOptions(), lambda _: 1_000):
        done += 1
        most = max(most, read - done)

    assert done == 1_000
    assert most <= 300
