"""The table of verifiers, and the one place where a task document becomes a typed task."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar  # Any: documents from callers are unparsed JSON

from pydantic import BaseModel, ValidationError

from assay.errors import InvalidRequest, NotFound, RequestError
from assay.interrupts import is_ctrl_c
from assay.schema import TaskBase
from assay.spelling import choices, nearest, shown
from assay.verifiers.fields import names_of
from assay.verifiers.interface import Verifier
from assay.verifiers.plugins import Plugin, told
from assay.verifiers.ranges import check_threshold
from assay.verifiers.refusals import refusal
from assay.verifiers.rules.rule import ProfiledTask, Termed, check_weights

Model = TypeVar("Model", bound=BaseModel)


class Registry:
    """An immutable table of verifiers by name; `plugins` are what other distributions offered, refused ones too."""

    def __init__(self, verifiers: Iterable[Verifier], plugins: Iterable[Plugin] = ()) -> None:
        self._by_name = {verifier.name: verifier for verifier in verifiers}
        self.plugins = tuple(plugins)

    @property
    def names(self) -> tuple[str, ...]:
        """Names in alphabetical order."""
        return tuple(sorted(self._by_name))

    def get(self, name: str) -> Verifier:
        """Return the verifier called `name`. Raises NotFound listing the known names."""
        try:
            return self._by_name[name]
        except KeyError:
            raise NotFound(self.missing(name), fix=choices(name, self.names)) from None

    def origin(self, name: str) -> str:
        """Return which distribution brings a verifier; empty for those that come with Assay."""
        return next((one.distribution for one in self.plugins if one.name == name and one.verifier is not None), "")

    def missing(self, name: object) -> str:
        """Say that there is no verifier of that name, and why, where a plugin was to be it."""
        refused = [plugin.refusal for plugin in self.plugins if plugin.name == name]
        return f"unknown verifier {shown(name)}{': ' if refused else ''}{'; '.join(refused)}"

    def parse_task(self, document: object, *, path: str = "task") -> TaskBase:
        """Parse a task of any verifier. Raises InvalidRequest naming the path of the fault."""
        if not isinstance(document, Mapping):
            raise InvalidRequest("a task is a JSON object", path=path, fix="send {...} with an id and tests")
        name = document.get("verifier", "python")
        if not isinstance(name, str) or name not in self._by_name:
            raise InvalidRequest(self.missing(name), path=f"{path}.verifier", fix=choices(name, self.names))
        verifier = self._by_name[name]
        try:
            with self._refusing_faults(document, path):
                task = self._typed(verifier, document, path)
        except InvalidRequest as error:
            if "verifier" not in document and _may_be_of_another(
                verifier, document, error.path.removeprefix(f"{path}.")
            ):
                error.fix += f"; a task without `verifier` is one of {name!r}: name its verifier if that is another"
            raise
        return task

    def _typed(self, verifier: Verifier, document: Mapping[str, Any], path: str) -> TaskBase:
        task = parse(verifier.task_model, document, path=path, context={"registry": self})
        with beneath(path):
            if isinstance(verifier, Termed) and isinstance(task, ProfiledTask):
                check_weights(task, verifier.terms(task))
            check_threshold(verifier, task)
        task.runs_something()
        task.asks_models()  # both are asked in places where no fault is awaited
        return task

    @contextmanager
    def _refusing_faults(self, document: Mapping[str, Any], path: str) -> Iterator[None]:
        """Refuse a task over which the code of a plugin fails, or of a part that is one: it takes nothing down."""
        try:
            yield
        except RequestError:
            raise
        except BaseException as error:
            known = ((name, self.origin(name)) for name in _named(document))
            name, origin = next((one for one in known if one[1]), ("", ""))
            if not origin or is_ctrl_c(error):
                raise
            what = f"the verifier {name!r} of {origin} cannot read this task: it raised {told(error)}"
            raise InvalidRequest(what, path=path, fix="change the task, or mend the verifier") from error

    def with_profile(self, document: object, profile: str, *, place: str, option: str = "options.profile") -> object:
        """Return a task document with this preset, unless it names one itself or cannot be a task anyway.

        `place` is where the document lies, `option` where the preset is named. Raises InvalidRequest, at `option`, if
        its verifier does not have the preset.
        """
        if not isinstance(document, Mapping) or document.get("profile") is not None:
            return document
        name = document.get("verifier", "python")
        if not isinstance(name, str) or name not in self._by_name:
            return document
        known = profiles_of(self._by_name[name])
        if profile not in known:
            where = f"the task at {place}" if place else "the task"
            raise InvalidRequest(
                f"verifier {name!r} has no profile {shown(profile)}, and {where} names none",
                path=option,
                fix=choices(profile, known) if known else "leave it out, or score that task apart",
            )
        return {**document, "profile": profile}


def _named(document: object) -> Iterator[str]:
    """Yield the verifiers of a task, of its parts and of a chain's answer, as far as they are named."""
    if not isinstance(document, Mapping):
        return
    if isinstance(name := document.get("verifier"), str):
        yield name
    parts = document.get("terms")
    for inner in (document.get("task"), document.get("answer"), *(parts if isinstance(parts, list | tuple) else ())):
        yield from _named(inner)


def _may_be_of_another(verifier: Verifier, document: Mapping[str, Any], field: str) -> bool:
    """Whether a task was perhaps meant for another verifier: a field is wrong that this one lacks, or that is lacking.

    A name that is nearly one of its own is misspelled, and what every task has says nothing.
    """
    known = names_of(verifier.task_model)
    if field in known:
        return field not in document and field not in TaskBase.model_fields
    return field in document and nearest(field, known) is None


def profiles_of(verifier: Verifier) -> tuple[str, ...]:
    """Return the names of a verifier's presets."""
    model = verifier.task_model
    return tuple(profile.name for profile in model.PROFILES) if issubclass(model, ProfiledTask) else ()


def parse(
    model: type[Model], document: Mapping[str, Any], *, path: str, context: Mapping[str, Any] | None = None
) -> Model:
    """Validate `document` as `model`. Raises InvalidRequest with the JSON path of the first fault."""
    with beneath(path):
        try:
            return model.model_validate(document, context=context)
        except ValidationError as error:
            raise refusal(error, document, model) from error


def parse_texts(model: type[Model], texts: Mapping[str, str], *, path: str) -> Model:
    """As `parse`, for what comes as text wherever it is a number or a boolean: a query. Raises InvalidRequest."""
    with beneath(path):
        try:
            return model.model_validate_strings(texts)
        except ValidationError as error:
            raise refusal(error, texts, model) from error


@contextmanager
def beneath(path: str) -> Iterator[None]:
    """Put `path` before the paths of InvalidRequest that the block raises: they begin in a document that lies there."""
    try:
        yield
    except InvalidRequest as error:
        error.path = f"{path}.{error.path}" if path and error.path else path or error.path
        raise
