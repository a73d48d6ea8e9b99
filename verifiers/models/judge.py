"""The verifier `judge`: what a model says of a text, by a rubric or by a list of reference events."""

import statistics
from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import ConfigDict, Field, model_validator

from assay.errors import EndpointFault
from assay.sandboxes.interface import Slot
from assay.schema import Verdict
from assay.verifiers.extraction import without_reasoning
from assay.verifiers.interface import Prepared, decided
from assay.verifiers.models import blaming, judge_prompts
from assay.verifiers.models.blaming import OnUnreadable
from assay.verifiers.models.interface import EndpointName, Line, NoModels, Request
from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.answers.extraction import Source, read
from assay.verifiers.rules.rule import UNDECIDED, Profile, RuleTask, Scored, Term, conclude, lowest_terms

FLAG = "judge"
"""Carried by every result whose verdict is a model's opinion."""

_RUBRIC_TERMS = (
    Term("passes", 0, 1, "1 from a score of `threshold` on"),
    Term("score", 0, 100, "the median of the scores that the judge gave", weight=0.0),
)
_CAPTION_TERMS = (Term("recall", 0, 1, "the share of the events that the text covers: the median over the votes"),)
_FIELDS = {"rubric": ("rubric", "question", "threshold"), "caption_recall": ("events", "ask")}

Event = Annotated[str, Field(min_length=1, max_length=10_000)]
Answer = TypeVar("Answer")
Asking = Callable[[str, str], Request]
"""Makes the question about a text under a nonce."""


class _NoVerdict(Exception):
    """The judge can be asked, but not about this text."""


class JudgeTask(RuleTask):
    """A model's opinion of a text: reward = 1 from a score of `threshold` on, or the share of events that it covers.

    Every result has the flag `judge`: this is no rule. The text goes to the judge between two lines with a random
    number that does not occur in it, and a reply counts only if it repeats that number. A reply that cannot be read is
    asked for again, up to `rereads` times; then, and whenever the endpoint gives none within `limits.attempt_wall_s`,
    the outcome is `infra_error`. But a text that it refuses or fails at, while it answers others, has the lowest reward
    and the flag `refused` or `unanswered`; see `on_unreadable` for those that it does not answer in time or readably.
    Verdicts are never taken from the cache: models are sampled.
    Sources: SIMA 2 (rubric, 0 to 100, passed from 50); VideoChat-R1 (recall of a caption's events).
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "house", "verifier": "judge", "kind": "rubric", "endpoint": "strong",
                    "rubric": "100 if the house in the last message has a door and a roof; 50 if it has one of them.",
                },
                {
                    "id": "clip", "verifier": "judge", "kind": "caption_recall", "endpoint": "strong",
                    "events": ["a man opens a door", "a dog runs out"],
                },
            ]
        }
    )  # fmt: skip
    PROFILES: ClassVar = (
        Profile(
            "sima-2/paper", {"kind": "rubric", "threshold": 50.0}, "SIMA 2: rubric scores of 0 to 100",
            "the texts of the judge's prompts are ours: theirs were not released",
        ),
        Profile(
            "videochat-r1/paper", {"kind": "caption_recall", "ask": "together"},
            "OpenGVLab/VideoChat-R1@73b2ea9: described, its code not released",
            "one question for all events; the texts of the judge's prompts are ours",
        ),
    )  # fmt: skip

    verifier: Literal["judge"] = "judge"
    endpoint: EndpointName
    """The endpoint that judges: a name of the operator's."""
    kind: Literal["rubric", "caption_recall"]
    """What is asked."""
    rubric: str = Field("", max_length=100_000)
    """What earns how much, for `rubric`."""
    question: str = Field("", max_length=100_000)
    """What the text is an answer to, if the judge shall know, for `rubric`."""
    threshold: float = Field(50.0, gt=0, le=100, allow_inf_nan=False)
    """The lowest score that passes, for `rubric`: of 0 to 100, so that half of it is 50, and 0.5 next to nothing."""
    events: tuple[Event, ...] = Field((), max_length=64)
    """The reference events, for `caption_recall`."""
    ask: Literal["together", "apart"] = "together"
    """Whether all events are asked about in one question or in one each, for `caption_recall`."""
    extract: Source = Source.WHOLE
    """What of the completion is judged: as `extract` of `exact_match`; all but `whole` leave reasoning out."""
    tag: str = Field("answer", pattern=r"^[A-Za-z0-9_-]{1,64}$")
    """The tag that holds it, for `tag` and `after_tag`."""
    votes: int = Field(1, ge=1, le=15)
    """How often the judge is asked; the median counts."""
    rereads: int = Field(2, ge=0, le=10)
    """How often a question is asked again because its reply cannot be read."""
    on_unreadable: OnUnreadable | None = None
    """What a text is worth to which no reply comes in time, or none that can be read, or only that the endpoint is
    busy, while one comes to another text: the task's `gold`, or else a harmless one. Default: `lowest` where there is a
    gold, else `infra_error`. With `infra_error` said here, also a text at which the endpoint fails otherwise has no
    reward. A null reward is one that a text can earn by upsetting a weak judge, so give a gold."""
    max_characters: int = Field(100_000, ge=1, le=1_000_000)
    """The longest text that goes to the judge; of a longer one its beginning: then with the flag `input_cut`."""

    def asks_models(self) -> bool:
        """It asks one."""
        return True

    def blames(self, completion: str) -> bool:
        """Whether a judge that is upset by this completion, and by no other text, is the completion's own loss."""
        told = None if self.on_unreadable is None else self.on_unreadable is OnUnreadable.LOWEST
        return self.holds_liable(completion, told)

    def blames_failures(self, completion: str) -> bool:
        """Whether a completion pays at which the endpoint fails, and at no other."""
        return completion != self.gold and self.on_unreadable is not OnUnreadable.INFRA_ERROR

    def control(self, completion: str) -> str:
        """Return another text, which the judge must be able to judge now if it is well."""
        gold = "" if self.gold is None or completion == self.gold else self.shown(self.gold)
        return gold[: self.max_characters] or judge_prompts.CONTROL

    def shown(self, completion: str) -> str:
        """Return what of a completion is judged; empty where there is nothing."""
        text = completion if self.extract is Source.WHOLE else without_reasoning(completion)
        return (read(text, self.extract, self.tag) or "").strip()

    @model_validator(mode="after")
    def _agree(self) -> Self:
        self.refuse_fields_of_other_kinds(self.kind, _FIELDS)
        if self.kind == "rubric" and not self.rubric.strip():
            raise misplaced(("rubric",), "there is nothing to judge by", "give a rubric")
        if self.kind == "caption_recall" and not self.events:
            raise misplaced(("events",), "there is nothing to judge by", "give events")
        return self


class JudgeVerifier:
    """Asks a model what it makes of a text."""

    name = "judge"
    version = judge_prompts.VERSION
    task_model = JudgeTask

    def terms(self, task: JudgeTask) -> Sequence[Term]:
        """Return the terms of the task's kind."""
        return _RUBRIC_TERMS if task.kind == "rubric" else _CAPTION_TERMS

    def flags(self, task: JudgeTask) -> tuple[str, ...]:
        """Return the flag that says that no rule has judged."""
        del task
        return (FLAG,)

    def prepare(self, task: JudgeTask, completion: str, line: Line) -> Prepared:
        """Ask the judge. Raises EndpointFault, also where no reply can be read."""
        found = task.shown(completion)
        if not found:
            return self._concluded(task, self._lowest(task, "there is nothing to judge", answered=False), {})
        models = line.describe((task.endpoint,))
        text = found[: task.max_characters]
        asked = _Judge(task, completion, text, line)
        try:
            scored = _scored(task, asked, (FLAG, *(("input_cut",) if len(found) > len(text) else ())))
        except blaming.Blamed as error:
            scored = self._lowest(task, str(error), flags=(FLAG, error.flag))
        except _NoVerdict as error:
            scored = self._lowest(task, str(error), flags=(FLAG, UNDECIDED))
        return self._concluded(task, scored, {f"model.{name}": model for name, model in models.items()})

    def judge(self, task: JudgeTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict where there is no model to ask. Raises EndpointFault unless none is needed."""
        return self.prepare(task, completion, NoModels()).finish(slot)

    def _lowest(
        self, task: JudgeTask, message: str, *, answered: bool = True, flags: tuple[str, ...] = (FLAG,)
    ) -> Scored:
        return Scored(lowest_terms(self.terms(task), task.weights), answered, message, flags)

    def _concluded(self, task: JudgeTask, scored: Scored, versions: dict[str, str]) -> Prepared:
        verdict = conclude(task, self.terms(task), scored)
        flags = tuple(dict.fromkeys((FLAG, *verdict.flags)))
        verdict = verdict.model_copy(update={"flags": flags, "versions": versions})
        return decided(verdict)


class _Judge:
    """Puts one kind of question after the other about one text, and asks again what cannot be read."""

    def __init__(self, task: JudgeTask, completion: str, text: str, line: Line) -> None:
        """`text` is what of the completion is judged."""
        self._task = task
        self._completion = completion
        self._text = text
        self._line = line

    def ask(self, request: Asking, read_reply: Callable[[str, str], Answer]) -> Answer:
        """Return the first readable answer; `read_reply` is given the nonce.

        Raises Blamed and _NoVerdict where that is the text's loss, else EndpointFault.
        """
        endpoint, reason = self._task.endpoint, ""
        blames, control_text = self._task.blames(self._completion), self._task.control(self._completion)
        pays = blaming.Pays(failures=self._task.blames_failures(self._completion), lateness=blames)
        control_nonce = judge_prompts.draw_nonce(control_text)
        control = request(control_text, control_nonce)
        for _ in range(self._task.rereads + 1):
            nonce = judge_prompts.draw_nonce(self._text)
            asked = request(self._text, nonce)
            reply = blaming.ask(self._line, endpoint, asked, control, pays)
            try:
                return read_reply(reply.text, nonce)
            except judge_prompts.Unreadable as error:
                reason = f"no verdict in {self._task.rereads + 1} replies: {error}"
        if blames and _is_readable(self._line.probe(endpoint, control).text, control_nonce, read_reply):
            raise _NoVerdict(f"{reason}, though there is one on another text")
        raise EndpointFault(f"{endpoint}: {reason}")


def _is_readable(reply: str, nonce: str, read_reply: Callable[[str, str], object]) -> bool:
    try:
        read_reply(reply, nonce)
    except judge_prompts.Unreadable:
        return False
    return True


def _scored(task: JudgeTask, judge: _Judge, flags: tuple[str, ...]) -> Scored:
    if task.kind == "rubric":
        terms = _rubric(task, judge)
        side = "at or above" if terms["passes"] else "below"
        said = f"the judge's score is {terms['score']:.15g}, {side} the threshold, {task.threshold:.15g}"
        return Scored(terms, message=said, flags=flags)
    terms = _caption(task, judge)
    return Scored(terms, message=f"of the events, a share of {terms['recall']:.6g} is covered", flags=flags)


def _rubric(task: JudgeTask, judge: _Judge) -> dict[str, float]:
    scores = [
        judge.ask(
            lambda text, nonce: judge_prompts.rubric_request(task.rubric, task.question, text, nonce),
            judge_prompts.read_score,
        )
        for _ in range(task.votes)
    ]
    score = statistics.median(scores)
    return {"passes": float(score >= task.threshold), "score": score}


def _caption(task: JudgeTask, judge: _Judge) -> dict[str, float]:
    ask = _together if task.ask == "together" else _apart
    shares = [statistics.fmean(ask(task, judge)) for _ in range(task.votes)]
    return {"recall": statistics.median(shares)}


def _together(task: JudgeTask, judge: _Judge) -> Sequence[bool]:
    return judge.ask(
        lambda text, nonce: judge_prompts.caption_request(task.events, text, nonce),
        lambda reply, nonce: judge_prompts.read_covered(reply, nonce, len(task.events)),
    )


def _apart(task: JudgeTask, judge: _Judge) -> Sequence[bool]:
    def covers(event: str) -> bool:
        return judge.ask(lambda text, nonce: judge_prompts.event_request(event, text, nonce), judge_prompts.read_event)

    return [covers(event) for event in task.events]
