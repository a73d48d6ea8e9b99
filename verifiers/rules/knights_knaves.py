"""The verifier `knights_knaves`: does an answer give everyone the right role?"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.blocks import last_block
from assay.verifiers.rules.layouts import THINK_ANSWER, once_each
from assay.verifiers.rules.rule import Profile, RuleTask, Scored, Term

Name = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Role = Literal["knight", "knave"]

_RIGHT, _WRONG, _UNREADABLE = 2.0, -1.5, -2.0
_ROLE = re.compile(r"knight|knave")
_SUBJECT_GOES_ON = re.compile(r"\w")
_TERMS = (
    Term("format", -1, 1, "1 if each of the four tags occurs exactly once, in order, else -1"),
    Term("answer", _UNREADABLE, _RIGHT, "2 if all roles are right, -1.5 if not, -2 if they cannot be read"),
)


class KnightsKnavesTask(RuleTask):
    """People to be told apart, knights from knaves: reward = format + answer, from -3 to 3.

    Format: 1 if the think and the answer tags each occur exactly once, in order, else -1. Answer, from the last
    `<answer>` block: 2 if everyone's role is right, -1.5 if not, and -2 if it cannot be read or the format is broken.
    It can be read if `knight` and `knave` occur as often, in all, as there are people, and everyone has a sentence
    `NAME is a knight` or `NAME is a knave`, in any case; the first one counts.
    Source: Unakar/Logic-RL@9d2c457 kk.py. There a name that ends another one's, as Ann does Mary Ann, may take the
    other's role; here a sentence is about the longest name that fits.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"id": "k", "verifier": "knights_knaves", "roles": {"Ann": "knight", "Bob": "knave"}}]
        }
    )
    PROFILES: ClassVar = (
        Profile(
            "logic-rl/code", {}, "Unakar/Logic-RL@9d2c457 kk.py", "the rule above, for completions without a prompt"
        ),
    )

    verifier: Literal["knights_knaves"] = "knights_knaves"
    roles: dict[Name, Role] = Field(min_length=1, max_length=100)
    """Everyone's role, by name."""

    @model_validator(mode="after")
    def _tell_names_apart(self) -> Self:
        if len({name.lower() for name in self.roles}) < len(self.roles):
            raise misplaced(("roles",), "two names differ in case only")
        if any(_ROLE.search(name.lower()) or name != name.strip() for name in self.roles):
            raise misplaced(("roles",), "a name holds a role, or blanks at its ends")
        return self


class KnightsKnaves:
    """Reads the sentences and compares the roles."""

    name = "knights_knaves"
    version = "1"
    task_model = KnightsKnavesTask

    def terms(self, task: KnightsKnavesTask) -> Sequence[Term]:
        """Return format and answer."""
        del task
        return _TERMS

    def score(self, task: KnightsKnavesTask, text: str) -> Scored:
        """Return both terms."""
        formatted = once_each(text, THINK_ANSWER)
        told = read_roles(last_block(text, "answer") or "", tuple(task.roles))
        if not formatted or told is None:
            message = "the roles cannot be read" if formatted else "tags are missing, repeated or out of order"
            return Scored(_values(formatted, _UNREADABLE), answered=told is not None, message=message)
        wrong = [name for name, role in task.roles.items() if told[name] != role]
        message = f"wrong roles: {', '.join(wrong)[:200]}" if wrong else ""
        return Scored(_values(formatted, _WRONG if wrong else _RIGHT), message=message)


def _values(formatted: bool, answer: float) -> Mapping[str, float]:
    return {"format": 1.0 if formatted else -1.0, "answer": answer}


def read_roles(answer: str, names: Sequence[str]) -> Mapping[str, str] | None:
    """Return everyone's role; None where somebody has none, or there are more or fewer roles than people."""
    lowered = answer.lower()
    if lowered.count("knight") + lowered.count("knave") != len(names):
        return None
    by_length = sorted(names, key=len, reverse=True)
    told: dict[str, str] = {}
    for role in _ROLE.finditer(lowered):
        subject = _subject(lowered, role, by_length)
        if subject is not None:
            told.setdefault(subject, role.group())
    return told if len(told) == len(names) else None


def _subject(text: str, role: re.Match[str], names: Sequence[str]) -> str | None:
    """Return whose role it is, if the text before it reads `NAME is a `."""
    if _SUBJECT_GOES_ON.match(text, role.end()):
        return None  # knights
    at = _before_word(text, "a", role.start())
    at = _before_word(text, "is", at)
    at = _before_blanks(text, at)
    for name in names:
        spelled = name.lower()
        start = at - len(spelled)
        if start >= 0 and text.startswith(spelled, start) and not _is_within_word(text, start):
            return name
    return None


def _before_word(text: str, word: str, end: int) -> int:
    """Return where `word` starts if it stands before `end` with white space between, else 0: nothing is before that."""
    at = _before_blanks(text, end)
    start = at - len(word)
    return start if start > 0 and text.startswith(word, start) else 0


def _before_blanks(text: str, end: int) -> int:
    """Return where the white space that ends at `end` starts; 0 if there is none."""
    at = end
    while at > 0 and text[at - 1].isspace():
        at -= 1
    return at if at < end else 0


def _is_within_word(text: str, at: int) -> bool:
    """Whether a word goes on across that place."""
    return at > 0 and all(_SUBJECT_GOES_ON.match(character) for character in text[at - 1 : at + 1])
