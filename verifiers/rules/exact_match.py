"""The verifier `exact_match`: is the answer that the text ends in one of the right ones?"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self, assert_never

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.answering import AnsweringTask
from assay.verifiers.rules.answers.extraction import Block, Source, read, tagged, well_formed
from assay.verifiers.rules.answers.minerva import minerva
from assay.verifiers.rules.answers.quantity import value
from assay.verifiers.rules.answers.squad import careful, overlap, squad
from assay.verifiers.rules.rule import Profile, Scored, Term

Normalise = Literal["exact", "squad", "words", "minerva", "value"]
MOST_CHARACTERS = 20_000
"""Right answers are at most that long, and a longer answer is wrong, whatever it says."""

_MANY_TAGS_SHARE = 0.25


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Answer = Annotated[str, StringConstraints(min_length=1, max_length=MOST_CHARACTERS)]
Answers = Annotated[tuple[Answer, ...], BeforeValidator(_listed)]
Tag = Annotated[str, StringConstraints(pattern=r"^[^<>/\s]+$", max_length=100)]

_VERL = "volcengine/verl@b178a3c reward_score"
_WHOLE = {"reasoning": "kept"}
_SAKE = {**_WHOLE, "extract": "tag", "block": "last", "normalise": "exact", "layout": "closing_tags"}
_PROFILES = (
    Profile(
        "search-r1/hardened", {"extract": "tag", "normalise": "words", "block": "last"}, "arXiv 2503.09516 §3.4",
        "the defaults: the last answer block; decimals and signs count, `the` is not the empty answer",
    ),
    Profile(
        "search-r1/code", {**_WHOLE, "extract": "tag", "normalise": "squad", "block": "last", "least_blocks": 2},
        "PeterGriffinJin/Search-R1@a14dc3a qa_em.py",
        "SQuAD's normalisation; the text is prompt and completion together, the prompt holding one block (issue 79)",
    ),
    Profile(
        "verl-search-r1/code", {**_WHOLE, "extract": "tag", "normalise": "squad", "block": "last", "most_tags": 10},
        f"{_VERL}/search_r1_like_qa_em.py",
        "SQuAD's normalisation; a right answer with more than ten opening or closing tags is worth a quarter",
    ),
    Profile(
        "verl-gsm8k/code", {**_WHOLE, "extract": "hash_number", "normalise": "exact", "window": 300},
        f"{_VERL}/gsm8k.py",
        "strict: the number behind `#### ` in the last 300 characters, as a string: `18.` is not `18` (issue 7274). "
        "Commas are dropped from it but not from the answer: give `1200`, for `1,200` never matches",
    ),
    Profile(
        "verl-gsm8k-flexible/code", {**_WHOLE, "extract": "last_number", "normalise": "exact", "window": 300},
        f"{_VERL}/gsm8k.py", "flexible: the last number with its punctuation, as a string (issue 2150)",
    ),
    Profile(
        "verl-gsm8k/hardened", {"extract": "hash_line", "normalise": "value"}, f"{_VERL}/gsm8k.py",
        "what follows `####`, anywhere in the text, compared by value: `18.`, `18.0` and `$18` are 18",
    ),
    Profile(
        "verl-math-dapo/code",
        {**_WHOLE, "extract": "answer_line", "normalise": "minerva", "window": 300, "scores": (-1.0, 1.0)},
        f"{_VERL}/math_dapo.py",
        "the last `Answer:` line of the last 300 characters, compared as Minerva's strings: inches equal feet",
    ),
    Profile(
        "verl-math-dapo-box/code",
        {**_WHOLE, "extract": "box", "normalise": "exact", "window": 100, "scores": (-1.0, 1.0)},
        f"{_VERL}/math_dapo.py", "the strict mode: the last box of the last 100 characters, as a string (PR 7440)",
    ),
    Profile(
        "verl-math-dapo/hardened",
        {"extract": "answer_line_or_box", "normalise": "value", "scores": (-1.0, 1.0)},
        f"{_VERL}/math_dapo.py",
        "the last `Answer:` line, else the last box, anywhere; numbers by value, with units where both name one",
    ),
    Profile(
        "d1-gsm8k/code", {**_WHOLE, "extract": "after_tag", "normalise": "exact", "weights": {"exact_match": 2.0}},
        "dllm-reasoning/d1@837888f, correctness_reward_func", "the correctness term alone: 2 on equal strings",
    ),
    Profile(
        "sake-3b/paper", {**_SAKE, "weights": {"format": 0.3, "exact_match": 0.7}}, "arXiv 2505.15062 eq. 9-11, §3.5",
        "closing tags alone earn their share; normalisation and choice of block are not stated: strings, last block",
    ),
    Profile(
        "sake-7b/paper", {**_SAKE, "weights": {"format": 0.2, "exact_match": 0.8}}, "arXiv 2505.15062 eq. 9-11, §3.5",
        "as `sake-3b/paper`, with the weights of the larger model",
    ),
    Profile(
        "sake/hardened",
        {"extract": "tag", "block": "only", "normalise": "words", "layout": "pairs",
         "weights": {"format": 0.2, "exact_match": 0.8}},
        "arXiv 2505.15062 eq. 9-11",
        "each tag opened and closed once, in order and not blank; several answers are none",
    ),
)  # fmt: skip


class ExactMatchTask(AnsweringTask):
    """A question with one or several right answers: reward = exact_match (0 or 1, or `scores`), plus format if asked.

    The answer is read where `extract` says and compared with each of `answers` as `normalise` says. Where words are
    compared, `f1` (word overlap with the nearest of the answers) is reported too, with weight 0 unless `weights` says
    otherwise. An answer of more than 20,000 characters is wrong.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "capital", "verifier": "exact_match", "answers": ["Paris"]}]}
    )
    PROFILES: ClassVar = _PROFILES

    verifier: Literal["exact_match"] = "exact_match"
    answers: Answers = Field(min_length=1, max_length=1000)
    """The right answers, any of which counts; a single one may stand alone."""
    extract: Source = Source.TAG
    """Where the answer is read: `whole` text, a block of a `tag`, `after_tag` (from its last opening on),
    `hash_number` and `hash_line` (behind `####`), `last_number`, `answer_line` (behind `Answer:`), `box` (the last
    `\\boxed`), or `answer_line_or_box`."""
    tag: Tag = "answer"
    """The tag that holds the answer, for `tag` and `after_tag`."""
    block: Block = Block.LAST
    """For `tag`: the `first`, the `last`, or the `only` block (several blocks: no answer)."""
    window: int | None = Field(None, ge=1)
    """Only that many characters at the end of the text are read; default: all."""
    normalise: Normalise = "words"
    """`exact`: trimmed; `squad`: SQuAD's normalisation; `words`: the same, but for all of Unicode, with decimal points
    and signs kept and an answer never empty; `minerva`: Minerva's strings; `value`: numbers by value, else text."""
    scores: tuple[float, float] = (0.0, 1.0)
    """What `exact_match` is worth for a wrong and for a right answer, such as -1 and 1."""
    least_blocks: int = Field(1, ge=1)
    """With fewer blocks of the tag there is no answer."""
    most_tags: int | None = Field(None, ge=1)
    """A right answer is worth a quarter if there are more opening or more closing tags than this; default: no limit."""
    layout: Literal["none", "closing_tags", "pairs"] = "none"
    """Whether there is a term `format`: `closing_tags` (all of `tags` are closed somewhere), or `pairs` (each opened
    and closed once, in that order, apart and not blank)."""
    tags: tuple[Tag, ...] = ()
    """The tags that `layout` looks for."""

    @model_validator(mode="after")
    def _refuse_inconsistent(self) -> Self:
        if (self.layout == "none") != (not self.tags):
            raise misplaced(("tags",), "layout and tags belong together", "give both or neither")
        if not -1e6 <= self.scores[0] < self.scores[1] <= 1e6:
            raise misplaced(("scores",), "the second of the two must be the higher, and both within 1e6 of 0")
        if self.most_tags is not None and not self.scores[0] <= 0 < self.scores[1]:
            raise misplaced(
                ("most_tags",),
                "it quarters the second of `scores`, which must be positive then, and the first one not",
                "leave it out, or give other scores",
            )
        if self.extract is not Source.TAG and (self.least_blocks > 1 or self.block is not Block.LAST):
            raise misplaced(
                ("block" if self.block is not Block.LAST else "least_blocks",),
                "it means nothing here: extract is not `tag`",
                "leave it out",
            )
        if self.extract in (Source.HASH_NUMBER, Source.HASH_LINE) and any("####" in one for one in self.answers):
            raise misplaced(
                ("answers",), "one holds `####`, which no answer that is read can", "give what stands behind it"
            )
        return self


class ExactMatch:
    """Compares the answer with the right ones."""

    name = "exact_match"
    version = "1"
    task_model = ExactMatchTask

    def terms(self, task: ExactMatchTask) -> Sequence[Term]:
        """Return exact_match, f1 where words are compared, and format where a layout is asked for."""
        terms = [Term("exact_match", *task.scores, "the second of `scores` if the answer is one of the right ones")]
        if task.normalise in ("squad", "words"):
            terms.append(Term("f1", 0, 1, "word overlap with the nearest right answer", weight=0))
        if task.layout != "none":
            terms.append(Term("format", 0, 1, "1 if the tags are there as `layout` says"))
        return terms

    def score(self, task: ExactMatchTask, text: str) -> Scored:
        """Return the terms."""
        said = task.answering(text)
        seen = said if task.window is None else said[-task.window :]
        answer = _answer(task, seen)
        right, f1 = (False, 0.0) if answer is None or len(answer) > MOST_CHARACTERS else _compare(task, answer)
        wrong_score, right_score = task.scores
        terms = {"exact_match": right_score * _share(task, seen) if right else wrong_score}
        if task.normalise in ("squad", "words"):
            terms["f1"] = f1
        if task.layout != "none":
            closed = task.layout == "closing_tags" and all(f"</{tag}>" in text for tag in task.tags)
            terms["format"] = float(closed or (task.layout == "pairs" and well_formed(text, task.tags)))
        message = "" if right else f"the answer {answer[:80]!r} is none of the right ones" if answer else "no answer"
        return Scored(terms, answered=bool(answer), message=message)


def _answer(task: ExactMatchTask, text: str) -> str | None:
    if task.extract is Source.TAG:
        return tagged(text, task.tag, task.block, task.least_blocks)
    return read(text, task.extract, task.tag)


def _share(task: ExactMatchTask, text: str) -> float:
    """Return the share of the score that is left where tags are many."""
    if task.most_tags is None:
        return 1.0
    many = max(text.count(f"<{task.tag}>"), text.count(f"</{task.tag}>")) > task.most_tags
    return _MANY_TAGS_SHARE if many else 1.0


def _compare(task: ExactMatchTask, answer: str) -> tuple[bool, float]:
    """Return whether the answer is right, and the best F1."""
    match task.normalise:
        case "exact":
            return answer.strip() in {gold.strip() for gold in task.answers}, 0.0
        case "minerva":
            return minerva(answer) in set(map(minerva, task.answers)), 0.0
        case "value":
            given = value(answer)
            return any(given.agrees(value(gold)) for gold in task.answers), 0.0
        case "squad":
            form, golds = squad(answer), [squad(gold) for gold in task.answers]
            return form in golds, _best_f1(form, golds)
        case "words":
            deleted, blanks = careful(answer)
            forms = [careful(gold) for gold in task.answers]
            right = any((deleted and deleted == one) or (blanks and blanks == other) for one, other in forms)
            return right, _best_f1(blanks, [other for _, other in forms])
        case _:
            assert_never(task.normalise)


def _best_f1(given: str, golds: Sequence[str]) -> float:
    words = Counter(given.split())
    return max(overlap(words, gold) for gold in golds)
