"""Verifiers of other distributions, found by the entry point `assay.verifiers`; what is wrong with one is told.

A plugin is trusted: it is imported into the processes that assemble a registry, as our own verifiers are.
"""

import logging
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, entry_points
from typing import Any, cast  # Any, cast: an entry point names any object, which is checked before it is cast

from assay.interrupts import is_ctrl_c
from assay.schema import TaskBase
from assay.verifiers.interface import Verifier
from assay.verifiers.rules.rule import RuleTask, RuleVerifier

GROUP = "assay.verifiers"
"""The group of entry points: each has the name of its verifier, and is a verifier, a rule, or what makes one."""

log = logging.getLogger(__name__)

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_MOST_SAID = 500  # characters of what foreign code says of its own fault


class _Refused(Exception):
    """Why an entry point is no verifier."""


@dataclass(frozen=True)
class Plugin:
    """What one entry point came to: a verifier, or why there is none."""

    name: str
    distribution: str
    """Name and version of what brings it."""
    verifier: Verifier | None = None
    fault: str = ""

    @property
    def refusal(self) -> str:
        """Say that there is no such verifier, whose fault it is and why."""
        return f"the verifier {self.name!r} of {self.distribution} cannot be used: {self.fault}"


def find_plugins(taken: Collection[str], entries: Iterable[EntryPoint] | None = None) -> tuple[Plugin, ...]:
    """Load what is installed (or `entries`), in alphabetical order. Never raises: faults are told, and logged.

    Names in `taken` are those of verifiers that come with Assay. A name that is offered twice is refused to both.
    """
    found = sorted(
        entry_points(group=GROUP) if entries is None else entries, key=lambda entry: (entry.name, entry.value)
    )
    names = [entry.name for entry in found]
    plugins = tuple(_load(entry, taken, names.count(entry.name) > 1) for entry in found)
    for plugin in plugins:
        if plugin.fault:
            log.warning("verifier_refused name=%r of=%s: %s", plugin.name, plugin.distribution, plugin.fault)
    return plugins


def named(distribution: Distribution | None) -> str:
    """Return name and version of a distribution, as far as it tells them."""
    try:
        name, version = ("", "") if distribution is None else (distribution.name, distribution.version)
    except Exception:  # noqa: BLE001 - left-overs of a broken installation have no metadata, which some Pythons raise
        name, version = "", ""
    return f"{name} {version}" if name else "an unknown distribution"


def told(error: BaseException) -> str:
    """Return what foreign code says of its fault, in a line. Raises nothing but Ctrl-C."""
    try:
        said = str(error)[: 2 * _MOST_SAID]
    except BaseException as fault:
        if is_ctrl_c(fault):
            raise
        said = f"its text cannot be made: {type(fault).__name__}"
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in said).split())
    return f"{type(error).__name__}: {line}"[:_MOST_SAID]


def _load(entry: EntryPoint, taken: Collection[str], is_twice: bool) -> Plugin:
    origin = named(entry.dist)
    try:
        if entry.name in taken:
            raise _Refused("a verifier of that name comes with Assay: give it another")
        if _NAME.fullmatch(entry.name) is None:
            raise _Refused("names are lower-case letters, digits and underscores")
        if is_twice:
            raise _Refused("more than one entry point has that name: uninstall one")
        log.debug("verifier_loading name=%s of=%s", entry.name, origin)  # the last word if its import never ends
        return Plugin(entry.name, origin, verifier=_made(entry))
    except _Refused as error:
        return Plugin(entry.name, origin, fault=str(error))
    except BaseException as error:  # the boundary to foreign code: its import may raise anything
        if is_ctrl_c(error):
            raise  # somebody has had enough of waiting for it
        return Plugin(entry.name, origin, fault=told(error))


def _made(entry: EntryPoint) -> Verifier:
    """Return the verifier. Raises _Refused, and whatever the plugin's own code raises."""
    made: Any = entry.load()
    if isinstance(made, type) or not (hasattr(made, "judge") or hasattr(made, "score")):
        if not callable(made):
            raise _Refused(f"{entry.value} is neither a verifier, nor a rule, nor makes one")
        made = made()
    is_rule = not hasattr(made, "judge")
    for fault in _faults(made, entry.name, RuleTask if is_rule else TaskBase):
        raise _Refused(fault)
    return RuleVerifier(made) if is_rule else cast(Verifier, made)


def _faults(made: Any, name: str, base: type[TaskBase]) -> Iterable[str]:
    """Yield what keeps an object from being the verifier of that name."""
    if not callable(getattr(made, "judge", None)) and not (
        callable(getattr(made, "score", None)) and callable(getattr(made, "terms", None))
    ):
        yield "it has neither judge(task, completion, slot), nor terms(task) and score(task, text)"
    if getattr(made, "name", None) != name:
        yield f"its name is {getattr(made, 'name', None)!r}; it must be that of the entry point"
    version = getattr(made, "version", None)
    if not isinstance(version, str) or not version:
        yield "its version is no text"
    model = getattr(made, "task_model", None)
    if not isinstance(model, type) or not issubclass(model, base):
        yield f"its task_model is no {base.__name__}"
        return
    if model.model_fields["verifier"].default != name:
        yield f"the field verifier of {model.__name__} must have the default {name!r}"
    if model.model_config.get("extra") != "forbid":
        yield f"{model.__name__} must refuse unknown fields"
    extra = model.model_config.get("json_schema_extra")
    if not isinstance(extra, Mapping) or not extra.get("examples"):
        yield f"{model.__name__} has no example: model_config['json_schema_extra']['examples']"
