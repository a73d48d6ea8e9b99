"""`text_overlap`: ROUGE and BLEU as the libraries have them, within bounds."""

import sys
from typing import Any

import pytest
from attempts import judge
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.schema import Verdict

ALL = ["rouge1", "rouge2", "rougeL", "bleu"]
MAT = "the cat sat on the mat"


def overlap(completion: str, references: Any = MAT, **fields: Any) -> Verdict:
    """All metrics."""
    return judge("text_overlap", completion, **{"references": references, "metrics": ALL, **fields})


def test_the_reference_itself_is_full_marks() -> None:
    """In every metric."""
    verdict = overlap(MAT)

    assert verdict.terms == dict.fromkeys(ALL, 1.0)
    assert verdict.outcome is Outcome.PASSED
    assert verdict.reward == 1


def test_the_message_says_what_each_metric_gives() -> None:
    """Also of a text that is the reference but for case, as most of them count it."""
    assert overlap(MAT.title()).message.startswith("rouge1 1.000, rouge2 1.000, rougeL 1.000, bleu ")


@pytest.mark.parametrize("completion", ["a cat sat on a mat", "Mat the on sat cat the.", "the", "dogs", "the " * 50])
def test_values_are_the_libraries(completion: str) -> None:
    """With their default tokens."""
    rouge = RougeScorer(["rouge1", "rouge2", "rougeL"]).score(MAT, completion)
    bleu = BLEU(effective_order=True).sentence_score(completion, [MAT]).score / 100

    terms = overlap(completion).terms

    assert terms == pytest.approx({**{name: score.fmeasure for name, score in rouge.items()}, "bleu": bleu})


def test_the_reward_is_the_mean_unless_the_task_weighs() -> None:
    """Equal weights that add up to one."""
    verdict = overlap("the cat", metrics=["rouge1", "rouge2"])

    assert verdict.reward == pytest.approx(sum(verdict.terms.values()) / 2)
    assert overlap("the cat", metrics=["rouge1"], weights={"rouge1": 2}).reward == pytest.approx(2 * 0.5)


def test_the_nearest_reference_counts() -> None:
    """For ROUGE; BLEU takes all of them."""
    assert overlap(MAT, ["dogs bark loudly", MAT]).terms == dict.fromkeys(ALL, 1.0)


@pytest.mark.parametrize(("tokens", "value"), [("words", 0.0), ("characters", 0.5)])
def test_other_scripts_need_other_tokens(tokens: str, value: float) -> None:
    """The library's own see nothing but ASCII: such a reference is refused."""
    fields = {"references": "\u732b\u5ea7", "metrics": ["rouge1"]}

    assert judge("text_overlap", "\u732b\u7acb", tokens=tokens, **fields).terms["rouge1"] == value
    with pytest.raises(InvalidRequest, match="tokens"):
        judge("text_overlap", "\u732b", **fields)


def test_long_texts_are_cut_and_say_so() -> None:
    """ROUGE-L after `most_tokens`, everything after 20,000 characters."""
    assert overlap("the cat", metrics=["rougeL"], most_tokens=6).flags == ()
    assert overlap("the cat", metrics=["rougeL"], most_tokens=5).flags == ("cut",)
    assert overlap("a" * 20_001).flags == ("cut",)


def test_the_library_keeps_no_texts() -> None:
    """Its caches would hold tens of thousands of them."""
    overlap("the cat")

    caches: list[Any] = [Tokenizer13a.__call__, TokenizerRegexp.__call__]
    assert [cache.cache_info().currsize for cache in caches] == [0, 0]


@pytest.mark.parametrize(("library", "metric"), [("rouge_score", "rouge1"), ("sacrebleu", "bleu")])
def test_without_the_library_tasks_are_refused(library: str, metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what to install."""
    monkeypatch.setitem(sys.modules, library, None)

    with pytest.raises(InvalidRequest, match=r"'\.\[text\]'"):
        overlap("a", metrics=[metric])


@pytest.mark.parametrize(
    "fields",
    [
        {"references": []}, {"references": ""}, {"metrics": []}, {"metrics": ["rouge1", "rouge1"]},
        {"metrics": ["meteor"]}, {"references": "..."}, {"references": "a" * 20_001}, {"most_tokens": 1001},
    ],
)  # fmt: skip
def test_bad_tasks_are_refused(fields: dict[str, Any]) -> None:
    """Where they are sent in."""
    with pytest.raises(InvalidRequest):
        overlap("a", **{"metrics": ["rouge1"], **fields})


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.text(max_size=40), st.lists(st.sampled_from(["a", "b", "\u00e9", "1.5", "."]), min_size=1).map(" ".join))
def test_metrics_are_bounded(completion: str, reference: str) -> None:
    """Whatever the text."""
    for tokens in ("words", "characters"):
        if tokens == "words" and reference.strip(" .") == "":
            continue
        verdict = overlap(completion, reference, tokens=tokens)

        assert all(0 <= value <= 1 for value in verdict.terms.values())
        assert 0 <= (verdict.reward or 0) <= 1
