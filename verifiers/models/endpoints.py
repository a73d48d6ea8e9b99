"""The operator's table of model endpoints: a TOML file with a table for each, keys in variables of the environment."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self  # Any: further parameters of a request are JSON

import httpx
from pydantic import ConfigDict, Field, SecretStr, ValidationError, model_validator

from assay.canonical import dump_line
from assay.errors import InvalidRequest
from assay.settings import model_key
from assay.strictness import ToTheLetter
from assay.verifiers.refusals import misplaced, refusal

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_KEY = re.compile(r"[!-~]{1,4096}")
_MOST_PORT = 65_535
_OURS = frozenset({"model", "messages", "stream", "n", "temperature", "max_tokens", "max_completion_tokens"})


class Endpoint(ToTheLetter):
    """One OpenAI-compatible chat endpoint."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str
    """`http` or `https`, up to and without `/chat/completions`; no user, password or query."""
    model: str = Field(min_length=1, max_length=256)
    """The model's name there; named in `versions` of results."""
    api_key_env: str | None = None
    """The variable of the worker's environment that holds the key; the key itself never stands in the file."""
    timeout_s: float = Field(60.0, gt=0, le=3600)
    """Seconds for one exchange, from connecting to the last byte."""
    retries: int = Field(2, ge=0, le=10)
    """Further tries after 408, 425, 429, 5xx, a broken connection, a time-out or an answer that is none."""
    max_concurrency: int = Field(16, ge=1, le=1024)
    """Exchanges that a worker has with it at once; others wait, which costs no attempt its budget."""
    temperature: float | None = Field(None, ge=0, le=10, allow_inf_nan=False)
    """Sampling temperature; unset leaves it to the endpoint."""
    max_tokens: int | None = Field(2048, ge=1)
    """Longest reply, in tokens; unset leaves it to the endpoint."""
    token_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the endpoint calls that."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Further fields of the request, such as `top_p`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            url = httpx.URL(self.base_url)
        except httpx.InvalidURL:
            raise misplaced(("base_url",), "this is no address") from None
        if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment:
            raise misplaced(("base_url",), "use http(s)://host[:port]/path, without user, query and fragment")
        if url.port is not None and not 0 < url.port <= _MOST_PORT:
            raise misplaced(("base_url",), f"its port is none: use 1 to {_MOST_PORT}")
        if ours := sorted(_OURS & self.parameters.keys()):
            raise misplaced(
                ("parameters", ours[0]), "this may not be set here", "use the field of the endpoint, or leave it"
            )
        try:
            dump_line(self.parameters)
        except (ValueError, TypeError):
            raise misplaced(("parameters",), "they are no JSON") from None
        return self

    @property
    def url(self) -> str:
        """Where its questions go."""
        return f"{self.base_url.rstrip('/')}/chat/completions"

    def fields(self) -> Mapping[str, Any]:
        """Return the fields of every request to it, but for the messages."""
        fields: dict[str, Any] = {**self.parameters, "model": self.model}
        if self.temperature is not None:
            fields["temperature"] = self.temperature
        if self.max_tokens is not None:
            fields[self.token_field] = self.max_tokens
        return fields


@dataclass(frozen=True)
class Access:
    """An endpoint with the key that opens it."""

    endpoint: Endpoint
    key: SecretStr | None = None


def read_endpoints(file: Path, environ: Mapping[str, str] | None = None) -> Mapping[str, Access]:
    """Read the table. Raises InvalidRequest naming file and endpoint, never showing a key."""
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidRequest(f"cannot read the models file {file}: {error}", path="models") from error
    if not tables:
        raise InvalidRequest(f"{file} names no endpoint", path="models", fix="add a table [NAME] for each")
    return {name: _access(name, table, environ) for name, table in tables.items()}


def _access(name: str, table: object, environ: Mapping[str, str] | None) -> Access:
    path = f"models.{name}"
    if not _NAME.fullmatch(name):
        raise InvalidRequest("an endpoint's name is letters, digits, '.', '_' and '-'", path=path, fix="rename it")
    if not isinstance(table, Mapping):
        raise InvalidRequest("an endpoint is a table", path=path, fix=f"write [{name}] and its fields below")
    try:
        endpoint = Endpoint.model_validate(table)
    except ValidationError as error:
        found = refusal(error, table, Endpoint)
        found.path = f"{path}.{found.path}" if found.path else path
        # from None: the library's own text shows what was given, which may be a key in the wrong place
        raise found from None
    return Access(endpoint, _key(endpoint.api_key_env, path, environ))


def _key(variable: str | None, path: str, environ: Mapping[str, str] | None) -> SecretStr | None:
    if variable is None:
        return None
    key = model_key(variable, environ)
    if key is None:
        raise InvalidRequest("the variable that holds its key is not set", path=f"{path}.api_key_env", fix="set it")
    if not _KEY.fullmatch(key.get_secret_value()):
        raise InvalidRequest("its key holds blanks or other signs that no header carries", path=f"{path}.api_key_env")
    return key
