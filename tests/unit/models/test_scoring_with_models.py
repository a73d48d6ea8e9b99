"""`assay score` with tasks that ask models: in threads of their own, over real sockets."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.cli.commands import run
from assay.verifiers.models.scripted_server import Rule, ScriptedServer

CHAIN = {
    "id": "sum", "verifier": "chain", "question": "What is 19 + 23?", "pool": ["small", "strong"],
    "answer": {"verifier": "exact_match", "answers": ["42"]},
}  # fmt: skip
JUDGE = {"id": "house", "verifier": "judge", "kind": "rubric", "endpoint": "strong", "rubric": "100 for a house."}
RULE = {"id": "cat", "verifier": "classification", "label": "cat"}
PLAN = 'model_id = [0, 1]\nsubtasks = ["Solve.", "Check."]\naccess_list = [[], [0]]'
RULES = [
    Rule(match=r"END (\w+)", reply=r'{"nonce": "\1", "score": 80}'),
    Rule(model="strong-1", reply="<answer>42</answer>"),
    Rule(model="small-1", reply="I think 42."),
]
BOTH = ["small", "strong"]


def score(folder: Path, server: ScriptedServer, attempts: list[dict[str, Any]], names: list[str] = BOTH) -> list[Any]:
    """Score with these endpoints at one server; return the lines of results."""
    tables = [f'[{name}]\nbase_url = "{server.base_url}"\nmodel = "{name}-1"\nretries = 0\n' for name in names]
    (folder / "models.toml").write_text("\n".join(tables))
    (folder / "tasks.jsonl").write_text("\n".join(map(json.dumps, (CHAIN, JUDGE, RULE))))
    (folder / "attempts.jsonl").write_text("\n".join(map(json.dumps, attempts)))
    out = folder / "results.jsonl"
    run(["score", str(folder / "tasks.jsonl"), str(folder / "attempts.jsonl"), "-o", str(out)])
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.fixture(autouse=True)
def _endpoints(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_MODELS", str(tmp_path / "models.toml"))


def test_chains_judges_and_rules_are_scored_together(tmp_path: Path) -> None:
    """Each as it should, in input order, without a sandbox."""
    attempts = [
        {"task_id": "sum", "completion": PLAN}, {"task_id": "house", "completion": "A house."},
        {"task_id": "cat", "completion": "<think>t</think><answer>cat</answer>"}, {"task_id": "sum", "completion": "?"},
    ]  # fmt: skip
    with ScriptedServer(RULES) as server:
        lines = score(tmp_path, server, attempts)

    assert [line["outcome"] for line in lines] == ["passed", "passed", "passed", "no_answer"]
    assert [line["flags"] for line in lines] == [["models"], ["judge"], [], ["models"]]
    assert lines[0]["steps"][1] == {"name": "1.strong", "outcome": "passed", "reward": None, "span": None}
    assert lines[0]["versions"]["model.small"] == "small-1"
    assert lines[1]["terms"] == {"passes": 1.0, "score": 80.0}
    assert {line["sandbox"] for line in lines} == {""}


def test_slow_models_hold_nothing_up(tmp_path: Path) -> None:
    """Forty chains of two steps of half a second each go on together."""
    rules = [rule.model_copy(update={"delay_s": 0.5}) for rule in RULES]
    attempts = [{"task_id": "sum", "completion": PLAN}] * 20
    with ScriptedServer(rules) as server:
        lines = score(tmp_path, server, attempts)

    assert {line["outcome"] for line in lines} == {"passed"}
    assert max(line["timing"]["queued_s"] for line in lines) < 5


def test_an_outage_leaves_no_reward(tmp_path: Path) -> None:
    """Neither does an endpoint that the operator has not configured; what needs none is judged."""
    attempts = [{"task_id": "sum", "completion": PLAN}, {"task_id": "house", "completion": "A house."}]
    with ScriptedServer([Rule(status=500)]) as server:
        down = score(tmp_path, server, attempts)
        unknown = score(tmp_path, server, attempts, ["small"])

    for line in (*down, *unknown):
        assert (line["outcome"], line["reward"]) == ("infra_error", None)
        assert line["flags"] in (["models"], ["judge"])
    assert "no model endpoint 'strong'" in unknown[0]["message"]


def test_a_broken_table_of_endpoints_ends_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is judged."""
    (tmp_path / "models.toml").write_text("[strong]\nmodel = 'x'\n")
    (tmp_path / "tasks.json").write_text(json.dumps(JUDGE))
    (tmp_path / "attempts.json").write_text(json.dumps({"task_id": "house", "completion": "x"}))

    status = run(["score", str(tmp_path / "tasks.json"), str(tmp_path / "attempts.json")])

    assert status == 2
    assert "models.strong.base_url" in capsys.readouterr().err
