"""The verifier `composite`: weights, gates, clips, outcomes and faults of rewards made of several."""

from typing import Any

import pytest
from stated_verdicts import CLASS, LAYOUT, REGISTRY, RIGHT, NotedSlot, judge, parse, stated

from assay.errors import InvalidRequest, TaskFault
from assay.outcomes import Outcome
from assay.verifiers.builtin import default_registry


def test_the_reward_is_the_weighted_sum_and_every_raw_term_is_told() -> None:
    """A part's value stands under its name, its raw terms behind it, all before weights."""
    verdict = judge(CLASS, {**LAYOUT, "weight": 0.5}, completion=RIGHT)

    assert verdict.reward == 1.5
    assert verdict.terms == {
        "class": 1.0, "class.accuracy": 1.0, "class.format": 1.0,
        "layout": 1.0, "layout.accuracy": 1.0, "layout.format": 1.0,
    }  # fmt: skip
    assert verdict.outcome is Outcome.PASSED


def test_without_a_term_the_value_is_the_reward() -> None:
    """The sum of the part's own terms."""
    verdict = judge({"name": "bird", "verifier": "classification", "task": {"label": "wren"}}, completion=RIGHT)

    assert verdict.terms["bird"] == verdict.reward == 2.0


def test_a_gate_lets_a_term_count_only_if_another_has_passed() -> None:
    """The raw value is told either way; a part with `term` has passed when that term is all that it can be."""
    loose, wrong = "Well. <answer>wren</answer>", RIGHT.replace("wren", "owl")
    gated = {**LAYOUT, "gate": "class"}

    assert judge(CLASS, gated, completion=RIGHT).reward == 2.0
    assert judge(CLASS, gated, completion=wrong).reward == 0.0
    assert judge(CLASS, gated, completion=wrong).terms["layout"] == 1.0
    assert judge({**CLASS, "gate": "layout"}, LAYOUT, completion=loose).reward == 0.0


@pytest.mark.parametrize(
    ("parts", "fields", "reward"),
    [
        ([stated("a", reward=5.0, clip=[-1, 2])], {}, 2.0),
        ([stated("a", weight=3.0, reward=-5.0, clip=[-1, 2])], {}, -3.0),
        ([stated("a"), stated("b")], {"clip": [0, 1.5]}, 1.5),
        ([stated("a", reward=-9.0)], {"clip": [-4, 4]}, -4.0),
        ([stated("a"), stated("b")], {"weights": {"b": 0.25}}, 1.25),
    ],
)
def test_clips_and_weights(parts: list[Any], fields: dict[str, Any], reward: float) -> None:
    """A part is clipped before its weight, the sum at the end; `weights` go before the parts' own."""
    assert judge(*parts, **fields).reward == reward


def test_a_later_part_may_know_whether_an_earlier_one_has_passed() -> None:
    """`given` sets a field of its task."""
    follows = stated("b", reward=0.0, given={"correct": "a"})

    assert judge(stated("a"), follows).terms["b"] == 1.0
    assert judge(stated("a", outcome="failed", reward=0.0), follows).terms["b"] == 0.0


@pytest.mark.parametrize(
    ("outcomes", "fields", "outcome"),
    [
        (["passed", "passed"], {}, "passed"),
        (["passed", "timeout"], {}, "timeout"),
        (["no_answer", "timeout"], {}, "no_answer"),
        (["passed", "failed"], {"decides": ["a"]}, "passed"),
        (["passed", "failed"], {"pass_threshold": 2.0}, "passed"),
        (["passed", "passed"], {"pass_threshold": 2.5}, "failed"),
        (["passed", "violation"], {"decides": ["a"], "pass_threshold": 0.5}, "violation"),
    ],
)
def test_outcomes_combine(outcomes: list[str], fields: dict[str, Any], outcome: str) -> None:
    """The first deciding part that has not passed; a threshold decides alone; a violation is never forgiven."""
    verdict = judge(*(stated(name, outcome=one) for name, one in zip("ab", outcomes, strict=True)), **fields)

    assert verdict.outcome == outcome


def test_a_raw_term_below_its_most_is_told_as_a_value() -> None:
    """The part's own task has passed: it is no failure of it."""
    shown = {**LAYOUT, "task": {"label": "wren", "weights": {"format": 0}}}
    loose = f"Well. {RIGHT}"

    reached = judge(CLASS, shown, completion=loose, pass_threshold=1.0)
    missed = judge(CLASS, shown, completion=loose)

    assert reached.outcome is Outcome.PASSED
    assert reached.message == "the reward 1 reaches pass_threshold, 1: layout: format is 0, of at most 1"
    assert (missed.outcome, missed.message) == (Outcome.FAILED, "layout: format is 0, of at most 1")


def test_a_violation_earns_nothing() -> None:
    """Whatever the other parts gave."""
    assert judge(stated("a"), stated("b", outcome="violation", reward=0.0)).reward == 0.0
    assert judge(stated("a", reward=-1.0), stated("b", outcome="violation", reward=0.0)).reward == -1.0
    assert judge(stated("a"), stated("b", outcome="violation", reward=0.0), clip=[0.5, 1.0]).reward == 0.0


@pytest.mark.parametrize("outcome", ["task_error", "infra_error", "inconclusive"])
def test_a_part_without_a_reward_leaves_the_whole_without(outcome: str) -> None:
    """A reward is never a guess; the message names the part."""
    verdict = judge(stated("a"), stated("b", outcome=outcome, reward=None), stated("c", fault="not reached"))

    assert (verdict.outcome, verdict.reward, verdict.terms) == (outcome, None, {})
    assert verdict.message.startswith("b: ")


def test_a_fault_of_a_parts_task_names_the_part() -> None:
    """It is the fault of the whole task."""
    with pytest.raises(TaskFault, match=r"^b: no tests"):
        judge(stated("a"), stated("b", fault="no tests"))


def test_what_parts_leave_behind_is_merged() -> None:
    """Tests and steps under the part's name, usage added up, flags once; output of the first part that ran."""
    verdict = judge(CLASS, stated("a", flag="x"), stated("b", flag="x", outcome="failed"), completion=RIGHT)

    assert [test.name for test in verdict.tests] == ["a.a", "a.1", "b.a", "b.1"]
    assert [step.name for step in verdict.steps] == ["a.s", "b.s"]
    assert (verdict.usage.cpu_s, verdict.usage.memory_mb) == (2.0, 5.0)
    assert (verdict.flags, verdict.stdout, verdict.exit_code) == (("x",), "out", 3)
    assert verdict.message == "b: it was failed"


def test_the_slot_is_cleared_between_parts_that_run() -> None:
    """No part finds what an earlier one left; each has the task's limits."""
    slot = NotedSlot()

    judge(stated("a"), CLASS, stated("b"), completion="c", slot=slot, limits={"wall_s": 7})

    assert slot.judged == [("c", 7.0), "clear", ("c", 7.0)]


@pytest.mark.parametrize(
    ("document", "path", "said"),
    [
        ({"terms": []}, "tasks[3].terms", "nothing to judge by"),
        ({"terms": [CLASS, CLASS]}, "tasks[3].terms[1].name", "a name of its own"),
        ({"terms": [{**CLASS, "task": {}}]}, "tasks[3].terms[0].task.label", "required"),
        ({"terms": [CLASS, {**CLASS, "name": "b", "task": {"lable": 1}}]}, "tasks[3].terms[1].task.label", "required"),
        ({"terms": [{**CLASS, "verifier": "nope"}]}, "tasks[3].terms[0].verifier", "unknown verifier"),
        ({"terms": [{**CLASS, "verifier": "composite"}]}, "tasks[3].terms[0].verifier", "no composite"),
        ({"terms": [{**CLASS, "term": "acuracy"}]}, "tasks[3].terms[0].term", "no term"),
        ({"terms": [stated("a", term="x")]}, "tasks[3].terms[0].term", "no term"),
        ({"terms": [{**CLASS, "name": "a.b"}]}, "tasks[3].terms[0].name", "pattern"),
        ({"terms": [{**CLASS, "gate": "class"}]}, "tasks[3].terms[0].gate", "'class' is no other part"),
        ({"terms": [{**CLASS, "gate": "nobody"}]}, "tasks[3].terms[0].gate", "'nobody' is no other part"),
        ({"terms": [stated("a", given={"correct": "b"}), stated("b")]}, "tasks[3].terms[0].given.correct", "earlier"),
        (
            {"terms": [stated("a"), stated("b", correct=True, given={"correct": "a"})]},
            "tasks[3].terms[1].task.correct",
            "twice",
        ),
        ({"terms": [stated("a", limits={"wall_s": 1})]}, "tasks[3].terms[0].task.limits", "belongs to the composite"),
        ({"terms": [stated("a", gold="x")]}, "tasks[3].terms[0].task.gold", "belongs to the composite"),
        ({"terms": [CLASS], "limits": {"wall_s": 1}}, "tasks[3].limits", "no part runs anything"),
        ({"terms": [CLASS], "decides": ["x"]}, "tasks[3].decides[0]", "no term 'x' .use one of class"),
        ({"terms": [CLASS], "weights": {"x": 1}}, "tasks[3].weights.x", "no term 'x' .use one of class"),
        ({"terms": [CLASS], "weights": {"class": float("inf")}}, "tasks[3].weights.class", "finite"),
        ({"terms": [CLASS], "clip": [1, 0]}, "tasks[3].clip", "lowest value is above"),
        ({"terms": [CLASS], "scoring": "all"}, "tasks[3].scoring", "weighted sum"),
        ({"terms": [CLASS], "parameters": {"a": 1}}, "tasks[3].profile", "go with a profile"),
        ({"profile": "nobody/paper"}, "tasks[3].profile", "unknown profile"),
        ({"group_terms": [{"kind": "majority", "name": "m"}], "gold": "x"}, "tasks[3].gold", "a gold says nothing"),
        (
            {"terms": [CLASS], "group_terms": [{"kind": "median", "name": "m"}]},
            "tasks[3].group_terms[0].kind",
            "median",
        ),
        (
            {"terms": [CLASS], "group_terms": [{"kind": "relative_length", "name": "m", "right": "x"}]},
            "tasks[3].group_terms[0].right",
            "'x' is no part",
        ),
    ],
)
def test_faults_of_a_task_are_refused_by_path(document: dict[str, Any], path: str, said: str) -> None:
    """The path leads into the part at fault."""
    with pytest.raises(InvalidRequest, match=said) as caught:
        REGISTRY.parse_task({"id": "t", "verifier": "composite", **document}, path="tasks[3]")

    assert caught.value.path == path


def test_the_content_of_a_task_is_what_its_parts_mean() -> None:
    """Defaults written out are the same content; another label is another."""
    plain = parse(CLASS).content_hash()

    assert parse({**CLASS, "weight": 1, "task": {"label": "wren", "normalise": "names"}}).content_hash() == plain
    assert parse({**CLASS, "task": {"label": "owl"}}).content_hash() != plain


def test_what_a_parts_source_may_read_is_content() -> None:
    """A `program` reads id and metadata, which are the whole's: verdicts are not shared across them."""
    part = {"name": "p", "verifier": "program", "task": {"source": "def verify(completion, task): return task['id']"}}
    document = {"id": "t", "verifier": "composite", "terms": [part], "metadata": {"m": 1}}
    registry = default_registry()
    task = registry.parse_task(document)

    others = [registry.parse_task({**document, **other}) for other in ({"id": "u"}, {"metadata": {"m": 2}})]

    assert len({one.content_hash() for one in (task, *others)}) == 3
    assert task.parts[0].first_task.document["metadata"] == {"m": 1}  # type: ignore[attr-defined]  # of composites


def test_a_changed_copy_of_a_task_has_a_content_of_its_own() -> None:
    """Nothing that was worked out of the fields before stays."""
    task = default_registry().parse_task({"id": "t", "verifier": "regex", "patterns": ["a"]})
    before = task.content_hash()

    assert task.model_copy(update={"gold": "a"}).content_hash() != before == task.model_copy().content_hash()


def test_what_a_part_requires_is_required_of_the_worker() -> None:
    """The composite must say so itself, because it decides which worker takes the attempt."""
    entry = {"dataset": "chain_sum", "entry": {"question": "1", "answer": "1", "metadata": {}}}
    document = {
        "id": "t",
        "verifier": "composite",
        "terms": [{"name": "a", "verifier": "reasoning_gym", "task": entry}],
    }

    with pytest.raises(InvalidRequest, match="part 'a' requires reasoning_gym"):
        default_registry().parse_task(document)
    assert default_registry().parse_task({**document, "requires": ["reasoning_gym"]}).runs_something()


def test_what_runs_nothing_needs_no_sandbox() -> None:
    """A composite runs something if one of its parts does."""
    assert not parse(CLASS).runs_something()
    assert parse(CLASS, stated("a")).runs_something()


def test_group_terms_are_left_to_the_second_pass() -> None:
    """The verdict tells what the attempt shows; the reward is that of the parts so far."""
    terms = [
        {"kind": "relative_length", "name": "short", "unit": "words", "gate": "layout"},
        {"kind": "majority", "name": "vote", "weight": 2},
        {"kind": "duplicates", "name": "same", "weight": -1},
    ]

    verdict = judge(CLASS, LAYOUT, completion="A  <answer> The Wren </answer>", group_terms=terms, decides=["class"])

    assert verdict.reward == 0.0
    assert verdict.standing is not None
    short, vote, same = verdict.standing.showings
    assert (short.length, short.counts, short.is_right) == (5, False, False)
    assert (vote.answer, vote.weight, vote.quorum) == ("the wren", 2.0, 2)
    assert (same.answer, same.weight) == ("a <answer> the wren </answer>", -1.0)


def test_group_terms_may_be_all_there_is() -> None:
    """Without parts the group decides; an attempt that gives no answer has none."""
    terms = [{"kind": "majority", "name": "vote"}]

    assert judge(group_terms=terms, completion="<answer>4</answer>").outcome is Outcome.PASSED
    assert judge(group_terms=terms, completion="4").outcome is Outcome.NO_ANSWER


def test_long_answers_are_compared_by_their_hash() -> None:
    """What waits in Redis stays small; lone surrogates are answers too."""
    terms = [{"kind": "duplicates", "name": "same"}]

    standing = judge(group_terms=terms, completion="\ud83d" * 1001).standing

    assert standing is not None
    assert (standing.showings[0].answer or "").startswith("sha256:")
