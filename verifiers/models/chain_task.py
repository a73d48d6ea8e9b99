"""The task model of the verifier `chain`."""

from functools import cached_property
from typing import Any, ClassVar, Literal, Self  # Any: the answer's task is unparsed JSON until its verifier types it

from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from assay.canonical import content_hash
from assay.errors import InvalidRequest
from assay.schema import TaskBase
from assay.verifiers.interface import Verifier
from assay.verifiers.models.blaming import OnUnreadable
from assay.verifiers.models.interface import EndpointName
from assay.verifiers.models.judge import JudgeTask
from assay.verifiers.refusals import misplaced
from assay.verifiers.registry import Registry
from assay.verifiers.rules.plan import PlanFields
from assay.verifiers.rules.rule import Profile

_MOST_SEEN = 4_000_000  # characters of outputs: every asking thread of a worker may hold as many
_NOT_NESTED = ("chain", "composite")
_OUTER_FIELDS = ("id", "limits", "gold", "canonical_solution", "requires", "metadata")


class ChainTask(PlanFields):
    """A plan as three lists, run over the models of a pool: reward = 1 if its answer is right, 0.5 if wrong, else 0.

    The plan is read as `plan` reads it. Its steps run in order: each asks the endpoint of its worker, which is told the
    question, the earlier steps that the access list names (what they were told and what they answered), and its
    subtask. The output of the last step is judged by `answer`, a task of another verifier.
    An endpoint that gives no answer within the time makes the outcome `infra_error`, without a reward, and so does a
    name in `pool` that the worker does not know; a text without a plan earns 0 whatever the endpoints do, and so does
    a plan with a step that its endpoint refuses or fails at while it answers others (flag `refused` or `unanswered`;
    see `on_unreadable`). `steps` lists what was run, and `stdout` the end of each output. Verdicts are never taken from
    the cache: models are sampled.
    `limits.attempt_wall_s` bounds all questions together, and then the judging of the answer, if that runs anything:
    models that are slow leave it no less. The other limits are the answer's.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "sum", "verifier": "chain", "question": "What is 19 + 23?", "pool": ["small", "strong"],
                    "answer": {"verifier": "math", "answer": "42"},
                }
            ]
        }
    )  # fmt: skip
    PROFILES: ClassVar = (
        Profile(
            "conductor/hardened", {}, "arXiv 2512.04388 §3.1, app. E",
            "the defaults: a plan that cannot be run is worth 0, for whatever reason",
        ),
        Profile(
            "conductor/paper", {"checks": "parse"}, "arXiv 2512.04388 §3.1",
            "to the letter: any three literal lists of equal length earn 0.5, also where they cannot be run",
        ),
    )  # fmt: skip

    verifier: Literal["chain"] = "chain"
    question: str = Field(min_length=1, max_length=1_000_000)
    """What the chain is to answer."""
    pool: tuple[EndpointName, ...] = Field(min_length=1, max_length=64)
    """The workers to choose from, in the order of their numbers: names of endpoints of the operator's."""
    answer: dict[str, Any]
    """The task that the final output is judged by, without `id`: `{"verifier": "math", "answer": "42"}`; not `chain`
    or `composite`. It counts as right if its outcome is `passed`. A `gold` of the chain, which is a plan, also shows
    that the source of an answer's own verifier works: see its `on_error`. A `judge` must have its `on_unreadable` here:
    it has no gold by which to tell."""
    show_question: bool = True
    """Whether each worker is told the question, or its subtask alone."""
    max_steps: int = Field(16, ge=1, le=64)
    """The most steps of a plan that can be run."""
    max_output_characters: int = Field(20_000, ge=1, le=200_000)
    """The most that is kept of a step's output; if one is cut, the result has the flag `output_cut`. Times `max_steps`
    at most 4,000,000: so much one step may be told."""

    on_unreadable: OnUnreadable | None = None
    """What a plan is worth with a step to which no reply comes while its endpoint answers "Answer briefly.". Default:
    as one that cannot be run, but null where replies come too late, or the endpoint says that it is busy (429, 503):
    it may be so to any. `lowest`: as one that cannot be run, also then, and where the plan does not fit into
    `limits.attempt_wall_s`. `infra_error`: null, but for a step that is refused."""

    _answer: TaskBase = PrivateAttr()
    _answer_verifier: Verifier = PrivateAttr()

    @property
    def answer_verifier(self) -> Verifier:
        """Who judges the answer."""
        return self._answer_verifier

    @property
    def answer_task(self) -> TaskBase:
        """The typed task of the answer, under this task's limits if it has any."""
        if "limits" in self.model_fields_set and self._answer.runs_something():
            return self._answer.model_copy(update={"limits": self._answer.limits_beneath(self.limits)})
        return self._answer

    def answer_task_for(self, completion: str) -> TaskBase:
        """Return the task by which the answer of a plan is judged.

        Once this task's gold has passed, its answer's verifier is known to work, as by a gold of its own: what upsets
        it is then the plan's loss. A model that is asked about the answer must be told so (`on_unreadable`).
        """
        answer = self.answer_task
        if self.gold is None or completion == self.gold or answer.asks_models():
            return answer
        return answer.model_copy(update={"gold": self.gold})

    def runs_something(self) -> bool:
        """Whether judging the answer does."""
        return self._answer.runs_something()

    def runs_tests(self) -> bool:
        """Whether the answer has several."""
        return self._answer.runs_tests()

    def asks_models(self) -> bool:
        """It asks those of the pool."""
        return True

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        if self.max_steps * self.max_output_characters > _MOST_SEEN:
            raise misplaced(
                ("max_output_characters",),
                f"times max_steps it is more than {_MOST_SEEN}",
                f"give at most {_MOST_SEEN // self.max_steps}, or fewer steps",
            )
        return self

    @cached_property
    def _content_hash(self) -> str:
        """Hash what the answer's task means, not how it is written."""
        document = self.model_dump(mode="json", exclude={"id", "metadata", "answer"})
        return content_hash({**document, "answer": self.answer_task.content_hash()})

    def model_post_init(self, context: Any, /) -> None:
        """Type the answer's task, before anything asks what it runs. Raises InvalidRequest with its path."""
        registry = (context or {}).get("registry")
        if not isinstance(registry, Registry):
            raise ValueError("a chain is typed by a registry, which knows the verifier of its answer")
        self._answer = _typed(self, registry)
        self._answer_verifier = registry.get(self._answer.verifier)


def _typed(task: ChainTask, registry: Registry) -> TaskBase:
    for field in _OUTER_FIELDS:
        if field in task.answer:
            raise InvalidRequest(
                f"{field} belongs to the chain, not to its answer", path=f"answer.{field}", fix="move it"
            )
    if task.answer.get("verifier", "python") in _NOT_NESTED:
        raise InvalidRequest("a chain's answer is judged by one verifier", path="answer.verifier", fix="use another")
    typed = registry.parse_task({**task.answer, "id": task.id, "metadata": task.metadata}, path="answer")
    if missing := sorted(set(typed.requires) - set(task.requires)):
        raise InvalidRequest(
            f"the answer requires {', '.join(missing)}", path="requires", fix="name it here: it decides who judges"
        )
    if isinstance(typed, JudgeTask) and typed.on_unreadable is None:
        raise InvalidRequest(
            "nothing says what an answer is worth that upsets the judge: there is no gold to tell by",
            path="answer.on_unreadable",
            fix="say `lowest`, or `infra_error` for a null reward, which plans can then bring about",
        )
    return typed
