"""Texts that are kept in Redis for whoever asks for them by token: for a time, and no more than a bound."""

import time
from collections.abc import Sequence

from assay.errors import TooLarge
from assay.service.connection import Connection

KEPT_S = 3600
MOST_KEPT = 10_000
MOST_BYTES = 512 << 20
MOST_READ_BYTES = 64 << 20
"""Of all that one call reads, each time that it is asked for."""
_NO_TOKEN = "none"  # instead of no text, under which the sum of all sizes is kept
_SHARED = """
local order, sizes, prefix = KEYS[1], KEYS[2], KEYS[3]
local function drop(one)
  local found = redis.call('DEL', prefix .. one)
  redis.call('ZREM', order, one)
  local size = redis.call('HGET', sizes, one)
  if size then
    redis.call('HDEL', sizes, one)
    redis.call('HINCRBY', sizes, '', -size)
  end
  return found
end
"""
_DROP = f"{_SHARED} return drop(ARGV[1])"
_KEEP = (
    _SHARED
    + """
local token, text, now, kept_s, most, most_bytes, compares, old = unpack(ARGV)
if compares == '1' and (redis.call('GET', prefix .. token) or '') ~= old then return 0 end
for _, one in ipairs(redis.call('ZRANGEBYSCORE', order, '-inf', now - kept_s)) do drop(one) end
drop(token)
redis.call('SET', prefix .. token, text, 'EX', kept_s)
redis.call('ZADD', order, now, token)
redis.call('HSET', sizes, token, #text)
redis.call('HINCRBY', sizes, '', #text)
while redis.call('ZCARD', order) > tonumber(most)
  or (tonumber(redis.call('HGET', sizes, '')) > tonumber(most_bytes) and redis.call('ZCARD', order) > 1) do
  drop(redis.call('ZRANGE', order, 0, 0)[1])
end
for _, one in ipairs({order, sizes}) do redis.call('EXPIRE', one, 2 * kept_s) end
return 1
"""
)
"""Keeps one, unless it is to replace another text than the one that is there; what is too old goes, and then the oldest
until all fit. The sizes' field '' is their sum."""


class KeptTexts:
    """Texts of one kind by token. Thread-safe."""

    def __init__(
        self,
        connection: Connection,
        kind: str,
        *,
        most: int = MOST_KEPT,
        most_bytes: int = MOST_BYTES,
        most_read_bytes: int = MOST_READ_BYTES,
    ) -> None:
        self._connection = connection
        self._most_read_bytes = most_read_bytes
        self._prefix = f"compat:{kind}:"
        self._keys = (f"compat:{kind}-order", f"compat:{kind}-sizes", self._prefix)
        self._most = most
        self._most_bytes = most_bytes

    def keep(self, token: str, text: str) -> None:
        """Keep a text in place of what the token had. Raises ServiceUnavailable."""
        self._put(token, text, "0", b"")

    def replace(self, token: str, old: bytes | None, text: str) -> bool:
        """Keep a text in place of `old`, None where there was none; say whether that was still so.

        Raises ServiceUnavailable.
        """
        return self._put(token, text, "1", old or b"")

    def read(self, tokens: Sequence[str]) -> list[bytes | None]:
        """Return the texts, None for what is unknown or gone. Raises ServiceUnavailable, and TooLarge for too much."""
        named = [token or _NO_TOKEN for token in tokens]
        if len(named) > 1:  # one alone is no more than was kept
            self._refuse_much(named)
        found: list[bytes | None] = self._connection.ask("MGET", *(self._prefix + token for token in named))
        return found

    def _refuse_much(self, tokens: Sequence[str]) -> None:
        sizes: list[bytes | None] = self._connection.ask("HMGET", self._keys[1], *tokens)
        if sum(int(size or 0) for size in sizes) > self._most_read_bytes:
            raise TooLarge(f"these have more than {self._most_read_bytes} bytes together", fix="ask for fewer at once")

    def drop(self, token: str) -> bool:
        """Forget a text; say whether there was one. Raises ServiceUnavailable."""
        return bool(self._connection.ask("EVAL", _DROP, 3, *self._keys, token))

    def _put(self, token: str, text: str, compares: str, old: bytes) -> bool:
        values = (token, text, time.time(), KEPT_S, self._most, self._most_bytes, compares, old)
        return bool(self._connection.ask("EVAL", _KEEP, 3, *self._keys, *values))
