"""Whatever a model writes, every verifier that runs nothing ends, stays in its range, and blames nobody but the task.

Verifiers and profiles are taken from the registry: one that is added later is tested without a line here.
"""

import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import TaskFault
from assay.outcomes import Outcome, has_null_reward
from assay.sandboxes.nowhere import Nowhere
from assay.schema import TaskBase, Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.composite.templates import parameters_of
from assay.verifiers.reference import example_of, terms_of
from assay.verifiers.registry import profiles_of
from assay.verifiers.rules.rule import ProfiledTask, Term
from assay.verifiers.worked_examples import WORKED

REGISTRY = default_registry()
MEGABYTE = 1_000_000
BOUND_S = 20  # of processor time for a megabyte; a loaded machine needs a tenth of it, quadratic search minutes
SLACK = 1e-9

BODIES = [
    *(
        "[",
        "{",
        "(",
        "<",
        '"',
        "'",
        "\\",
        "-",
        "9",
        " ",
        "\n",
        "\t",
        "a",
        "|",
        "$",
        "#",
        "*",
        "_",
        "\x00",
        "\ud83d",
        "ﬃ",
    ),
    *("[[", '{"a":', "(1+", "1,", "1e999,", "-9,", "9.9.9", "1/0+", "((1)", "**", "'a','", '\\"', "\\boxed{", "\\frac"),
    *("<think>", "</think>", "<answer>", "</answer>", "<think></think>", "<answer></answer>", "</think><answer>"),
    *("Answer: ", "#### ", "```python\n", "a b ", "to ", "1 to 2 ", "is a knight ", "e\u0301", "\r\n", "&amp;"),
]
"""What a megabyte is made of."""
TAGS = ("answer", "think", "glue", "tool_call", "reasoning")
SEEDS = [*WORKED.values(), *(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS), *BODIES]


def tasks() -> Iterator[tuple[str, TaskBase]]:
    """The example of every verifier that runs nothing, plain and under each profile that fits it."""
    for name in REGISTRY.names:
        verifier = REGISTRY.get(name)
        example = example_of(verifier)
        if REGISTRY.parse_task(example).asks_models():
            continue  # judged in tests of their own, with models that say what they are told
        documents = {name: example}
        for profile in profiles_of(verifier):
            documents[f"{name} {profile}"] = profiled(example, profile, verifier.task_model)
        for title, document in documents.items():
            task = REGISTRY.parse_task(document)
            if not task.runs_something():
                yield title, task


def profiled(example: Mapping[str, Any], profile: str, model: type[TaskBase]) -> dict[str, Any]:
    """The example under a profile: fields that the profile sets are left to it, fields that it needs are added."""
    assert issubclass(model, ProfiledTask)
    known = {one.name: one for one in model.PROFILES}[profile]
    preset = known.fields
    if holes := parameters_of(known):
        given = {hole.name: hole.example for hole in holes if hole.is_required}
        return {"id": "c", "verifier": example["verifier"], "profile": profile, "parameters": given}
    needed = {"cache": 100} if preset.get("kind") == "soft_overlong" else {}
    needed |= {"length": 50} if preset.get("unit") == "tokens" else {}
    needed |= {"tags": ["think", "answer"]} if "layout" in preset and example["verifier"] == "exact_match" else {}
    needed |= {"token_ids": [1, 2, 1, 2, 1]} if (example["verifier"], profile) == ("repetition", "trl/code") else {}
    needed |= {"alpha": 1.0, "beta": 0.001} if preset.get("formula") == "cuda_l2_eq3" else {}
    needed |= {"gold_solution": [1.0]} if "solution" in preset.get("weights", {}) else {}
    kept = {key: value for key, value in example.items() if key not in preset}
    if example["verifier"] == "composite":
        kept = {"id": "c", "verifier": "composite"}
    if preset.get("kind") == "soft_overlong":
        kept.pop("correct", None)
    return {**kept, **needed, "profile": profile}


TASKS = dict(tasks())


def judge(task: TaskBase, completion: str) -> Verdict | None:
    """Judge a completion; None where the task turned out to be at fault."""
    try:
        return REGISTRY.get(task.verifier).judge(task, completion, Nowhere())
    except TaskFault:
        return None


def check(task: TaskBase, completion: str) -> None:
    """Fail unless the verdict is sound: finite, in range, and never null because of the completion."""
    verdict = judge(task, completion)
    assert verdict is not None, "the completion's fault was taken for the task's"
    assert not has_null_reward(verdict.outcome)
    assert verdict.reward is not None
    assert math.isfinite(verdict.reward)
    terms = {term.name: term for term in terms_of(REGISTRY.get(task.verifier), task)}
    if task.verifier == "composite":
        assert all(map(math.isfinite, verdict.terms.values()))
        return
    for name, value in verdict.terms.items():
        assert terms[name].low - SLACK <= value <= terms[name].high + SLACK, f"{name} is {value}"
    low, high = reward_range(task, list(terms.values()))
    assert low - SLACK <= verdict.reward <= high + SLACK


def reward_range(task: TaskBase, terms: Sequence[Term]) -> tuple[float, float]:
    """The least and the most that the ranges of the terms allow."""
    assert isinstance(task, ProfiledTask)
    ends = [sorted(task.weights.get(term.name, term.weight) * end for end in (term.low, term.high)) for term in terms]
    return sum(low for low, _ in ends), sum(high for _, high in ends)


@pytest.mark.parametrize("name", TASKS)
@settings(deadline=None, max_examples=60, derandomize=True)
@given(pieces=st.lists(st.sampled_from(SEEDS) | st.text(max_size=20), max_size=12))
def test_any_text_gets_a_sound_verdict(name: str, pieces: list[str]) -> None:
    """Text of any kind, among pieces of what verifiers look for."""
    check(TASKS[name], "".join(pieces))


def megabytes() -> Iterator[str]:
    """A megabyte of one thing, alone and where an answer is expected."""
    for body in BODIES:
        yield body * (MEGABYTE // len(body))
    for tag in TAGS:
        for body in ("[", "(1+", '{"a":', "9", "1,", " ", "\\", "'a','"):
            yield f"<think>t</think>\n<{tag}>" + body * (MEGABYTE // len(body) - 50) + f"</{tag}>"


@pytest.mark.parametrize("name", [name for name in TASKS if " " not in name])
def test_a_megabyte_of_anything_ends_in_time(name: str) -> None:
    """No text takes more than linear time, and none gets out of range."""
    for text in megabytes():
        started = time.process_time()
        check(TASKS[name], text)
        took_s = time.process_time() - started

        assert took_s < BOUND_S, f"{text[:40]!r}... took {took_s:.2f} s"


@pytest.mark.parametrize("name", [name for name in TASKS if " " in name])
def test_profiles_read_long_texts_as_soundly(name: str) -> None:
    """Presets change what is read and how; a tenth of a megabyte shows whether quadratic search came with it."""
    for text in megabytes():
        started = time.process_time()
        check(TASKS[name], text[: MEGABYTE // 20] + text[-MEGABYTE // 20 :])
        took_s = time.process_time() - started

        assert took_s < BOUND_S / 2, f"{text[:40]!r}... took {took_s:.2f} s"


@pytest.mark.parametrize("name", TASKS)
def test_the_same_text_gets_the_same_verdict(name: str) -> None:
    """Nothing is remembered from one attempt to the next."""
    task, completion = TASKS[name], WORKED[TASKS[name].verifier]

    first = judge(task, completion)
    judge(task, "</think><answer>" * 1000)

    assert judge(task, completion) == first


def wrong_answers(worked: str) -> Iterator[str]:
    """Completions in the form of a right one, and some that are no answer."""
    yield from ("", " ", "I do not know.", *(f"{thought}{rest}" for thought in ("", "<think>a</think>")
                                             for rest in ("", "<answer></answer>", "<answer>7</answer>")))  # fmt: skip
    for found, put in ((r"\d", "7"), (r"\d", "1"), (r"[A-Z]", "D"), (r"(?<=<answer>)[^<]*", "zzz"), ("think>", "b>")):
        yield re.sub(found, put, worked)
    yield worked[::-1]


@pytest.mark.parametrize("name", TASKS)
def test_no_answer_never_earns_more_than_a_wrong_one(name: str) -> None:
    """Of the same layout, that is: published rewards pay the layout whatever stands in it."""
    task = TASKS[name]
    verdicts = [judge(task, completion) for completion in wrong_answers(WORKED[task.verifier])]
    known = [verdict for verdict in verdicts if verdict is not None]
    none = [verdict for verdict in known if verdict.outcome is Outcome.NO_ANSWER]
    wrong = [verdict for verdict in known if verdict.outcome is Outcome.FAILED]

    above = [
        (missing.terms, given.terms)
        for missing in none
        for given in wrong
        if missing.terms.get("format") == given.terms.get("format") and _reward(missing) > _reward(given) + SLACK
    ]

    assert above == []


def _reward(verdict: Verdict) -> float:
    assert verdict.reward is not None
    return verdict.reward
