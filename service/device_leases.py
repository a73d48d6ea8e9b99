"""Leases of devices in Redis, for workers on any host."""

import secrets

from assay.sandboxes.devices.lease import Lease
from assay.service.connection import Connection

_TAKE = """
-- KEYS: 1 lease, 2 counter of tokens. ARGV: 1 holder, 2 milliseconds. Asked twice by one holder, it answers the same.
local held = redis.call('HMGET', KEYS[1], 'holder', 'token')
if held[1] then return held[1] == ARGV[1] and tonumber(held[2]) or 0 end
local token = redis.call('INCR', KEYS[2])
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'token', token)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return token
"""
_END = """
-- KEYS: 1 lease, 2 counter of tokens, 3 what was ended last. ARGV: 1 token.
-- Asked twice (the first answer was lost), it answers the same.
if redis.call('HGET', KEYS[1], 'token') == ARGV[1] then
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[3], ARGV[1])
  return 1
end
return redis.call('GET', KEYS[3]) == ARGV[1] and 1 or 0
"""


class DeviceLeases:
    """Implements `lease.Leases`: a lease ends by itself after `lasts_s`. One for each thread that measures."""

    def __init__(self, connection: Connection, lasts_s: float, prefix: str = "assay:") -> None:
        self._connection = connection
        self._lasts_ms = int(lasts_s * 1000)
        self._prefix = prefix
        self._holder = secrets.token_hex(16)

    def take(self, device: str) -> Lease | None:
        """Return a lease; None while somebody else has one. Raises ServiceUnavailable."""
        keys = self._keys(device)[:2]
        token = int(self._connection.ask("EVAL", _TAKE, 2, *keys, self._holder, self._lasts_ms))
        return Lease(device, token) if token else None

    def end(self, lease: Lease) -> bool:
        """Give a lease back; False if it was no longer the device's. Raises ServiceUnavailable."""
        return bool(self._connection.ask("EVAL", _END, 3, *self._keys(lease.device), lease.token))

    def _keys(self, device: str) -> tuple[str, str, str]:
        name = f"{self._prefix}device:{device}"
        return f"{name}:lease", f"{name}:tokens", f"{name}:ended"
