"""Profiles of `composite`: templates filled with parameters, and the numbers that were published."""

import pytest

from assay.errors import InvalidRequest
from assay.sandboxes.fakes import FakeSlot
from assay.verifiers.builtin import default_registry
from assay.verifiers.composite.profiles import PROFILES
from assay.verifiers.composite.task import CompositeTask
from assay.verifiers.composite.templates import Parameter, fill, parameters_of
from assay.verifiers.rules.rule import Profile


def test_a_template_is_filled_with_the_tasks_parameters() -> None:
    """What is missing, and what nobody asked for, is refused by name."""
    template = Profile("s/code", {"terms": [{"task": {"label": Parameter("label", "x")}}]}, "here", "a template")

    assert fill(template, {"label": "wren"}) == {"terms": [{"task": {"label": "wren"}}]}
    with pytest.raises(InvalidRequest, match="needs 'label'"):
        fill(template, {})
    with pytest.raises(InvalidRequest, match="unknown parameter 'lable'"):
        fill(template, {"lable": "wren", "label": "wren"})


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_every_profile_is_a_good_task_once_it_is_filled(profile: Profile) -> None:
    """Its verifiers and fields exist."""
    given = {hole.name: hole.example for hole in parameters_of(profile) if hole.is_required}
    document = {"id": "t", "verifier": "composite", "profile": profile.name, "parameters": given}

    task = default_registry().parse_task(document)

    assert isinstance(task, CompositeTask)
    assert profile.source


def boxed(answer: str, length: int) -> str:
    """A completion of that length in Open-RS's layout."""
    tail = f"\n</think>\n\\boxed{{{answer}}}"
    return "x" * (length - len(tail)) + tail


TAGGED = "<reasoning>\nr\n</reasoning>\n<answer>\n{}\n</answer>\n"
BLOCKS = "<think>\nt\n</think>\n<answer>\n\\boxed{42}\n</answer>"


@pytest.mark.parametrize(
    ("profile", "completion", "reward"),
    [
        ("open-rs/paper", boxed("42", 1000), 2.0),
        ("open-rs/paper", boxed("41", 1000), 1.0),
        ("open-rs/code", boxed("42", 3584), 1.0 + 2 * 0.5),
        ("open-rs/code", boxed("42", 2 * 3584), 1.0 + 2 * 1.0),
        ("open-rs/code", boxed("41", 3584), 1.0 + 2 * -0.5),
        ("open-rs/hardened", boxed("42", 2 * 3584), 1.0 + 2 * 0.5),
        ("open-rs/hardened", "\n</think>\n" + boxed("42", 3584), 2 * 0.5),
        ("open-r1/code", BLOCKS, 2.0),
        ("open-r1/code", BLOCKS.replace("42", "7"), 1.0),
        ("d1-gsm8k/code", TAGGED.format(42), 0.5 + 0.5 + 0.5 + 2.0),
        ("d1-gsm8k/code", TAGGED.format(41), 0.5 + 0.5 + 0.5),
        ("d1-math/code", "<answer>\n\\boxed{42}\n</answer>", 2.75),
        ("d1-math/code", "x", 0.25),
        ("d1-math/hardened", "<answer>\n\\boxed{42}\n</answer>", 3.0),
        ("verl-geo3k/code", "<think>t</think>\\boxed{42}", 1.0),
        ("verl-geo3k/code", "\\boxed{42}", 0.9),
        ("dapo/code", "Answer: 42", 1.0),
        ("dapo/code", "x" * (20480 - 11) + "\nAnswer: 41", -2.0),
        ("dapo/hardened", "x" * (18432 - 13) + "\nAnswer: 42.0", 0.5),
        ("kimi/paper", "\\boxed{42}", 1.0),
        ("ttrl/code", "\\boxed{42}", 0.0),
    ],
)
def test_profiles_give_the_published_numbers(profile: str, completion: str, reward: float) -> None:
    """Each by hand from its definition; of those with group terms the part before them."""
    known = {one.name: one for one in PROFILES}[profile]
    given = {hole.name: hole.example for hole in parameters_of(known) if hole.is_required}
    document = {"id": "t", "verifier": "composite", "profile": profile, "parameters": given}
    task = default_registry().parse_task(document)

    verdict = default_registry().get("composite").judge(task, completion, FakeSlot())

    assert verdict.reward == pytest.approx(reward)
