"""The one door to Redis: the only module that imports the redis library and turns its errors into ours."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar  # Any: Redis answers have no types of their own

import msgpack
from redis import Redis
from redis.backoff import ExponentialWithJitterBackoff
from redis.client import Pipeline as Pipeline  # other modules name these types from here
from redis.client import PubSub as PubSub
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, WatchError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from assay.errors import InvalidRequest, ServiceUnavailable

Value = TypeVar("Value")

_TRIES = 5
_CONNECT_S = 5
_ANSWER_S = 60  # a transaction of a very large batch takes its time


class Connection:
    """A thread-safe pool of connections to one Redis. Raises ServiceUnavailable for whatever Redis does wrong.

    Making one raises InvalidRequest for an address that is none; it connects only when it is used.
    """

    def __init__(self, url: str) -> None:
        retry = Retry(ExponentialWithJitterBackoff(base=0.02, cap=0.5), _TRIES)
        try:
            self.client = Redis.from_url(
                url,
                retry=retry,
                retry_on_error=[RedisConnectionError, RedisTimeoutError],
                socket_connect_timeout=_CONNECT_S,
                socket_timeout=_ANSWER_S,
            )
        except ValueError as error:  # the address is not repeated: it may hold a password
            raise InvalidRequest(
                f"not the address of a Redis: {error}",
                path="redis_url",
                fix="write redis://HOST:PORT, see ASSAY_REDIS_URL",
            ) from error

    def close(self) -> None:
        """Close every connection of the pool."""
        self.client.close()

    def pipeline(self, *, atomic: bool = False) -> Pipeline:
        """Return commands to be sent in one round trip; `atomic` makes them one transaction."""
        return self.client.pipeline(transaction=atomic)

    def run(self, pipeline: Pipeline) -> list[Any]:
        """Send a pipeline and return its answers."""
        with translated():
            return list(pipeline.execute())

    def commands(self, add: Callable[[Pipeline], None]) -> bytes:
        """Return what `add` adds to a pipeline as a script takes it: a list of commands, in msgpack."""
        pipeline = self.client.pipeline()
        add(pipeline)
        packed: bytes = msgpack.packb([command for command, _ in pipeline.command_stack], use_bin_type=False)
        return packed

    def ask(self, *command: Any) -> Any:
        """Send one command and return its answer as Redis gave it."""
        with translated():
            return self.client.execute_command(*command)  # type: ignore[no-untyped-call]  # redis leaves it untyped

    def scan(self, pattern: str) -> list[bytes]:
        """Return the names of all keys that match, without stopping Redis for others."""
        with translated():
            return list(self.client.scan_iter(match=pattern, count=1000))

    def guarded(self, key: str, build: Callable[[bytes | None, Pipeline], Value]) -> Value:
        """Run a transaction that depends on the value of `key`; it is built again if that changes meanwhile.

        `build` gets the value and a pipeline in transaction mode; it may leave that empty.
        """
        with translated(), self.client.pipeline(transaction=True) as pipeline:
            while True:
                pipeline.watch(key)  # type: ignore[no-untyped-call]  # redis leaves it untyped
                value: Any = pipeline.get(key)  # immediate while watching
                pipeline.multi()
                built = build(value, pipeline)
                if not len(pipeline):
                    return built
                try:
                    pipeline.execute()
                except WatchError:
                    continue
                return built

    @contextmanager
    def listening(self, *channels: str) -> Iterator[PubSub]:
        """Subscribe to channels for the duration of the block."""
        pubsub: PubSub = self.client.pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]  # so too
        try:
            with translated():
                pubsub.subscribe(*channels)
            yield pubsub
        finally:
            pubsub.close()


def next_message(pubsub: PubSub, timeout_s: float) -> tuple[str, bytes] | None:
    """Return the next (channel, payload), or None if there was none in time."""
    with translated():
        message = pubsub.get_message(timeout=timeout_s)
    if message is None or message["type"] != "message":
        return None
    return message["channel"].decode(), message["data"]


@contextmanager
def translated() -> Iterator[None]:
    """Turn errors of the redis library into ServiceUnavailable."""
    try:
        yield
    except RedisError as error:
        raise ServiceUnavailable(f"Redis: {str(error) or type(error).__name__}") from error
