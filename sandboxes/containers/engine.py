"""The Docker engine: the only module that knows its SDK. Every failure of either becomes IsolationUnavailable."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any  # the SDK has no types

from assay.errors import IsolationUnavailable
from assay.extras import install_extras

_TIMEOUT_S = 60
_WATCHED_S = 10
_KEPT_LINES = 5


@dataclass(frozen=True)
class Facts:
    """What the engine says of itself."""

    memory_bytes: int
    runtimes: frozenset[str]
    has_apparmor: bool


@dataclass(frozen=True)
class Listed:
    """A container of ours, whoever made it."""

    id: str
    labels: Mapping[str, str]
    running: bool


class Engine:
    """Makes, looks at and removes containers."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def facts(self) -> Facts:
        """Ask the engine about itself."""
        with _explained("ask the Docker engine"):
            info = self._client.info()
        return Facts(
            int(info.get("MemTotal") or 0),
            frozenset(info.get("Runtimes") or ()),
            any("name=apparmor" in option for option in info.get("SecurityOptions") or ()),
        )

    def image_id(self, name: str) -> tuple[str, str]:
        """Return the id of an image, to run it by, and its name for results: the registry's digest if it has one."""
        # Here, not at the top: a worker without containers needs no docker package.
        from docker.errors import ImageNotFound

        with _explained(f"look up the image {name}"):
            try:
                image = self._client.images.get(name)
            except ImageNotFound as error:
                raise IsolationUnavailable(
                    f"the Docker engine has no image {name!r}; build it (script/build-image {name}), load it, "
                    "or name another by ASSAY_DOCKER_IMAGE"
                ) from error
        digests = [digest.rpartition("@")[2] for digest in image.attrs.get("RepoDigests") or ()]
        return str(image.id), min(digests, default=str(image.id))

    def create(self, document: Mapping[str, object]) -> "Handle":
        """Create a container, not yet started, from the body of the API's call."""
        with _explained("create a container for jails"):
            made = self._client.api.create_container_from_config(dict(document))
        return Handle(self._client.api, str(made["Id"]), document)

    def list(self, label: str) -> list[Listed]:
        """Return every container, running or not, that carries the label."""
        with _explained("list containers"):
            found = self._client.api.containers(all=True, filters={"label": label})
        return [Listed(one["Id"], one.get("Labels") or {}, one.get("State") == "running") for one in found]

    def remove(self, container_id: str) -> None:
        """End and remove a container. Idempotent."""
        with _explained(f"remove the container {container_id[:12]}"):
            _remove(self._client.api, container_id)

    def close(self) -> None:
        """Give up the connections."""
        self._client.close()


class Handle:
    """One container, as the engine knows it."""

    def __init__(self, api: Any, container_id: str, document: Mapping[str, object]) -> None:
        self._api = api
        self._document = document
        self.id = container_id

    def start(self) -> None:
        """Start it."""
        with _explained("start a container for jails"):
            self._api.start(self.id)

    def is_running(self) -> bool:
        """Whether the engine still runs it."""
        from docker.errors import NotFound

        with _explained("look at a container"):
            try:
                state = self._api.inspect_container(self.id)["State"]
            except NotFound:
                return False
        return bool(state["Running"])

    def remove(self) -> None:
        """End and remove it. Idempotent."""
        with _explained("remove a container"):
            _remove(self._api, self.id)

    def last_words(self) -> str:
        """What such a container writes before it ends. The engine removes the logs of ours with them, so the same is
        started once more, without that; at most for some seconds."""
        host = self._document["HostConfig"]
        assert isinstance(host, dict)
        document = {**self._document, "HostConfig": {**host, "AutoRemove": False}}
        with _explained("look why a container ended"):
            again = str(self._api.create_container_from_config(document)["Id"])
            try:
                self._api.start(again)
                self._api.wait(again, timeout=_WATCHED_S)
                written: bytes = self._api.logs(again, tail=_KEPT_LINES)
            finally:
                _remove(self._api, again)
        return written.decode(errors="replace").strip()


def _remove(api: Any, container_id: str) -> None:
    from docker.errors import APIError

    try:
        api.remove_container(container_id, force=True, v=True)
    except APIError as error:
        if error.status_code not in (404, 409):  # gone, or about to be
            raise


def connect() -> Engine:
    """Return the engine that DOCKER_HOST names, or the machine's own. Raises IsolationUnavailable with the fix."""
    try:
        import docker
    except ImportError as error:
        raise IsolationUnavailable(f"the docker package is not installed: {install_extras('docker')}") from error
    with _explained("reach the Docker engine"):
        where = docker.utils.kwargs_from_env()
        _knock(docker.utils.parse_host(where.get("base_url")))
        asking = docker.DockerClient(**where, version=docker.constants.DEFAULT_DOCKER_API_VERSION, timeout=_TIMEOUT_S)
        try:
            spoken = asking.version(api_version=False)["ApiVersion"]
        finally:
            asking.close()  # `from_env` asks for the version too, and leaves its connection open if that fails
        return Engine(docker.DockerClient(**where, version=spoken, timeout=_TIMEOUT_S))


def _knock(address: str) -> None:
    """Raise IsolationUnavailable where nobody listens on a Unix socket: docker 7.2 leaves its own open then."""
    scheme, _, path = address.partition("://")
    if scheme != "http+unix":
        return
    with socket.socket(socket.AF_UNIX) as knocking:
        knocking.settimeout(_TIMEOUT_S)
        try:
            knocking.connect(path)
        except OSError as error:
            raise IsolationUnavailable(f"cannot reach the Docker engine at {path}: {error}; {_FIX}") from error


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Turn what the SDK and the HTTP library below it raise into an error that says what to do."""
    import docker.errors
    import requests.exceptions

    try:
        yield
    except docker.errors.APIError as error:
        raise IsolationUnavailable(f"cannot {what}: {error.explanation or error}") from error
    except requests.exceptions.RequestException as error:
        raise IsolationUnavailable(f"cannot {what}: {error}; {_FIX}") from error
    except docker.errors.DockerException as error:
        raise IsolationUnavailable(f"cannot {what}: {error}; {_FIX}") from error


_FIX = "start the engine (systemctl start docker), join its group, or name another one by DOCKER_HOST"
