"""The verifier `text_overlap`: how much of a reference's words a text has, by ROUGE or BLEU."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self  # Any: the libraries have no types

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.optional import check_installed, require
from assay.verifiers.rules.rule import RuleTask, Scored, Term

Metric = Literal["rouge1", "rouge2", "rougeL", "bleu"]
MOST_CHARACTERS = 20_000
"""Longer texts are cut there."""

_TOKENS = {"rouge": re.compile(r"[a-z0-9]+"), "words": re.compile(r"\w+"), "characters": re.compile(r"\S")}
_ABOUT = {
    "rouge1": "F measure of common words",
    "rouge2": "F measure of common pairs of neighbouring words",
    "rougeL": "F measure of the longest common subsequence of words",
    "bleu": "sentence BLEU, 0 to 1: 13a tokens, up to four words in a row, effective order, exponential smoothing",
}


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Reference = Annotated[str, StringConstraints(min_length=1, max_length=MOST_CHARACTERS)]
References = Annotated[tuple[Reference, ...], BeforeValidator(_listed)]


class TextOverlapTask(RuleTask):
    """A text to be close to reference texts: reward = the mean of `metrics`, each 0 to 1.

    Of several references ROUGE takes the nearest, BLEU takes all. Texts are cut at 20,000 characters; ROUGE-L, whose
    time grows with the product of both lengths, reads the first `most_tokens` tokens of each text. A text that was cut
    has the flag `cut`. The values are those of the libraries rouge-score (no stemming) and sacrebleu.
    Sources: ROUGE: Lin 2004. BLEU: Papineni et al. 2002; Post 2018, arXiv 1804.08771. Overlap with a reference is no
    judgement of meaning: copying a reference's frequent words earns something.
    Needs the package extra `text`; tasks are refused without.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"id": "mat", "verifier": "text_overlap", "references": ["the cat sat on the mat"]}]
        }
    )

    verifier: Literal["text_overlap"] = "text_overlap"
    references: References = Field(min_length=1, max_length=8)
    """Texts to be close to; a single one may stand alone."""
    metrics: tuple[Metric, ...] = Field(("rougeL",), min_length=1)
    """Any of `rouge1`, `rouge2`, `rougeL`, `bleu`: one term each, of equal weight unless `weights` says otherwise."""
    tokens: Literal["rouge", "words", "characters"] = "rouge"
    """What ROUGE counts: `rouge`: runs of ASCII letters and digits, lower-cased, as the library does, so that a text
    in another script is empty; `words`: runs of any letters and digits, lower-cased; `characters`: each character."""
    most_tokens: int = Field(500, ge=1, le=1000)
    """How many tokens of each text ROUGE-L reads."""

    @model_validator(mode="after")
    def _refuse_what_cannot_be_judged(self) -> Self:
        if len(set(self.metrics)) < len(self.metrics):
            raise misplaced(("metrics",), "one metric is named twice", "name each once")
        if any(metric != "bleu" for metric in self.metrics):
            check_installed("rouge_score", "rouge-score")
            if not all(_tokenize(self, reference) for reference in self.references):
                raise misplaced(
                    ("references",), "one of the references has no tokens", "choose other `tokens`, or drop it"
                )
        if "bleu" in self.metrics:
            check_installed("sacrebleu", "sacrebleu")
        return self


class TextOverlap:
    """Compares the text with the references."""

    name = "text_overlap"
    version = "1"
    task_model = TextOverlapTask

    def terms(self, task: TextOverlapTask) -> Sequence[Term]:
        """Return a term for each metric."""
        return [Term(metric, 0, 1, _ABOUT[metric], weight=1 / len(task.metrics)) for metric in task.metrics]

    def score(self, task: TextOverlapTask, text: str) -> Scored:
        """Return the metrics."""
        seen = text[:MOST_CHARACTERS]
        cut = len(text) > MOST_CHARACTERS
        terms: dict[str, float] = {}
        for metric in task.metrics:
            if metric == "bleu":
                terms[metric] = _bleu(task.references, seen)
                continue
            most = task.most_tokens if metric == "rougeL" else MOST_CHARACTERS
            tokens, *references = [_tokenize(task, one) for one in (seen, *task.references)]
            cut = cut or any(len(one) > most for one in (tokens, *references))
            terms[metric] = _rouge(metric, [one[:most] for one in references], tokens[:most])
        message = ", ".join(f"{metric} {value:.3f}" for metric, value in terms.items())
        return Scored(terms, answered=bool(text.strip()), message=message, flags=("cut",) if cut else ())


class _Blanks:
    """A tokenizer of the library's shape, for texts whose tokens are a blank apart."""

    def tokenize(self, text: str) -> list[str]:
        return text.split(" ") if text else []


def _tokenize(task: TextOverlapTask, text: str) -> list[str]:
    return _TOKENS[task.tokens].findall(text.lower())


def _rouge(metric: str, references: Sequence[Sequence[str]], tokens: Sequence[str]) -> float:
    scorer: Any = require("rouge_score.rouge_scorer", "rouge-score").RougeScorer([metric], tokenizer=_Blanks())
    best = scorer.score_multi([" ".join(reference) for reference in references], " ".join(tokens))
    return float(best[metric].fmeasure)


def _bleu(references: Sequence[str], text: str) -> float:
    bleu: Any = require("sacrebleu.metrics.bleu", "sacrebleu").BLEU(effective_order=True)
    score = float(bleu.sentence_score(text, list(references)).score)
    for tokenizer in (bleu.tokenizer, bleu.tokenizer._post_tokenizer):
        cached: Any = type(tokenizer).__call__
        cached.cache_clear()  # the library would keep the last 65,536 texts for the life of the process
    return min(score / 100, 1.0)
