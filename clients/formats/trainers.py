"""Rows as trainers keep them: open-r1's `verification_info`, verl's `reward_model.ground_truth`."""

from collections.abc import Callable, Mapping
from typing import Any  # Any: labels are unparsed JSON

from assay.clients.formats.fields import (
    Document,
    Record,
    decoded,
    decoded_if_there,
    field,
    named,
    text_of,
    without_nothing,
)
from assay.labels import plain_values, task_of_label


def open_r1(record: Record) -> Document:
    """Read a row with `verification_info`, JSON or text of it (huggingface/open-r1, rewards.py; SYNTHETIC-1)."""
    task = _unnamed(decoded(record, "verification_info"))
    gold = text_of(record, "gold_standard_solution")
    return named({**task, "gold": gold} if gold else task, record, prefix="open-r1")


def verl(record: Record) -> Document:
    """Read a row of verl's data (volcengine/verl): what is right in `reward_model`, who judges it by `data_source`.

    GSM8K, DAPO's mathematics and Search-R1's questions are judged by the hardened profiles of what verl does for
    them; other labels are read as they are (`assay.labels`).
    """
    source = text_of(record, "data_source")
    model = decoded_if_there(record, "reward_model")
    truth = field(model if isinstance(model, Mapping) else record, "ground_truth")
    extra = decoded_if_there(record, "extra_info")
    about = {"data_source": source or None, "index": extra.get("index") if isinstance(extra, Mapping) else None}
    return named({**verl_task(source, truth), "metadata": without_nothing(about)}, record, prefix="verl")


def verl_task(source: str, truth: Any) -> Document:
    """Return what a ground truth means under a `data_source` of verl; without an `id` unless it is a task with one.

    Raises InvalidRequest for a label in no known form.
    """
    plain = plain_values(truth)
    if _is_answer(plain):
        read = next((read for known, read in _SOURCES if source.lower().startswith(known)), _unnamed)
        return read(plain)
    return _unnamed(plain)


def _is_answer(truth: Any) -> bool:
    """Say whether a ground truth is an answer, or Search-R1's object of answers, and no task and no tests."""
    if isinstance(truth, Mapping):
        return "target" in truth
    return not (isinstance(truth, str) and truth.lstrip().startswith("{"))


def _unnamed(label: Any) -> Document:
    task = task_of_label(label)
    return {name: value for name, value in task.items() if name != "id" or not str(value).startswith("label-")}


def _strict_gsm8k(truth: Any) -> Document:
    return {"verifier": "exact_match", "answers": [str(truth)], "profile": "verl-gsm8k/hardened"}


def _dapo(truth: Any) -> Document:
    return {"verifier": "exact_match", "answers": [str(truth)], "profile": "verl-math-dapo/hardened"}


def _search(truth: Any) -> Document:
    targets = truth.get("target", truth) if isinstance(truth, Mapping) else truth
    answers = [str(one) for one in targets] if isinstance(targets, list | tuple) else [str(targets)]
    return {"verifier": "exact_match", "answers": answers, "profile": "search-r1/hardened"}


_SOURCES: tuple[tuple[str, Callable[[Any], Document]], ...] = (
    ("openai/gsm8k", _strict_gsm8k),
    ("math_dapo", _dapo),
    ("aime", _dapo),
    ("searchr1_", _search),
)
