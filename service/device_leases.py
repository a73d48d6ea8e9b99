"""Leases of devices in Redis, for workers on any host."""

import secrets

from assay.sandboxes.devices.lease import Lease
from assay.service.connection import Connection

LASTS_S = 60.0
"""A lease that nobody renews ends after this long; who holds one renews it every few seconds."""
_TAKE = """
-- KEYS: 1 lease, 2 counter of tokens. ARGV: 1 holder, 2 milliseconds. Asked twice by one holder, it answers the same.
local held = redis.call('HMGET', KEYS[1], 'holder', 'token')
if held[1] then return held[1] == ARGV[1] and tonumber(held[2]) or 0 end
local token = redis.call('INCR', KEYS[2])
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'token', token)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return token
"""
_RENEW = """
-- KEYS: 1 lease. ARGV: 1 holder, 2 milliseconds.
return redis.call('HGET', KEYS[1], 'holder') == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0
"""
_END = """
-- KEYS: 1 lease, 2 counter of tokens, 3 who ended one last. ARGV: 1 holder.
-- Asked twice (the first answer was lost), it answers the same.
if redis.call('HGET', KEYS[1], 'holder') == ARGV[1] then
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[3], ARGV[1])
  return 1
end
return redis.call('GET', KEYS[3]) == ARGV[1] and 1 or 0
"""


class DeviceLeases:
    """Implements `lease.Leases`: a lease ends by itself `lasts_s` after it was last renewed. Thread-safe."""

    def __init__(self, connection: Connection, lasts_s: float = LASTS_S) -> None:
        self._connection = connection
        self._lasts_ms = int(lasts_s * 1000)

    def take(self, device: str) -> Lease | None:
        """Return a lease; None while somebody else has one. Raises ServiceUnavailable."""
        holder = secrets.token_hex(16)
        token = int(self._connection.ask("EVAL", _TAKE, 2, *self._keys(device)[:2], holder, self._lasts_ms))
        return Lease(device, token, holder) if token else None

    def renew(self, lease: Lease) -> bool:
        """Have it last for as long again; False if it is no longer the holder's. Raises ServiceUnavailable."""
        key = self._keys(lease.device)[0]
        return bool(self._connection.ask("EVAL", _RENEW, 1, key, lease.holder, self._lasts_ms))

    def end(self, lease: Lease) -> bool:
        """Give a lease back; False if it was no longer the device's. Raises ServiceUnavailable."""
        return bool(self._connection.ask("EVAL", _END, 3, *self._keys(lease.device), lease.holder))

    def _keys(self, device: str) -> tuple[str, str, str]:
        name = f"assay:device:{device}"
        return f"{name}:lease", f"{name}:tokens", f"{name}:ended"
