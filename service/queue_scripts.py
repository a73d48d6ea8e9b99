"""The steps of the queue of chunks that must happen in Redis as one; see `service.scripts`."""

CLAIM = """
-- KEYS: RQ queues in the order in which they are served, then as many RQ registries of started jobs.
-- ARGV: worker, lease in seconds, now in ISO form, prefix of RQ job keys, prefix of chunk keys.
-- Popping and leasing are one step, so that no chunk is ever in neither place (rq#1461, rq#2015).
local count = #KEYS / 2
local clock = redis.call('TIME')
for i = 1, count do
  local id = redis.call('LPOP', KEYS[i])
  while id do
    local blob = redis.call('GET', ARGV[5] .. id)
    if blob and redis.call('EXISTS', ARGV[4] .. id) == 1 then
      redis.call('ZADD', KEYS[count + i], clock[1] + ARGV[2], id .. ':' .. ARGV[1])
      redis.call('HSET', ARGV[4] .. id, 'status', 'started', 'started_at', ARGV[3], 'last_heartbeat', ARGV[3],
        'worker_name', ARGV[1])
      return {i, id, redis.call('HINCRBY', ARGV[4] .. id, 'deliveries', 1), blob}
    end
    redis.call('DEL', ARGV[4] .. id, ARGV[5] .. id)
    id = redis.call('LPOP', KEYS[i])
  end
end
return false
"""

EXTEND = """
-- KEYS: RQ registry of started jobs, RQ job. ARGV: lease, until when it holds, now in ISO form.
-- A lease that was swept stays swept, and a job that was withdrawn meanwhile is not made again.
redis.call('ZADD', KEYS[1], 'XX', ARGV[2], ARGV[1])
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('HSET', KEYS[2], 'last_heartbeat', ARGV[3]) end
"""

WITHDRAW = """
-- KEYS: RQ queues. ARGV: prefix of RQ job keys, prefix of chunk keys, then ids of chunks.
-- A queue is written anew without them: to look for each of them would cost its length each time.
local gone = {}
for i = 3, #ARGV do
  gone[ARGV[i]] = true
  redis.call('DEL', ARGV[1] .. ARGV[i], ARGV[2] .. ARGV[i])
end
for _, queue in ipairs(KEYS) do
  local ids, kept = redis.call('LRANGE', queue, 0, -1), {}
  for _, id in ipairs(ids) do
    if not gone[id] then kept[#kept + 1] = id end
  end
  if #kept < #ids then
    redis.call('DEL', queue)
    for i = 1, #kept, 1000 do redis.call('RPUSH', queue, unpack(kept, i, math.min(i + 999, #kept))) end
  end
end
"""

RETIRE = """
-- KEYS: RQ queue and RQ registry of started jobs of each lane, then the registries of failed jobs. ARGV: key of the
--       lanes, key of RQ's set of queues, then the lanes' names. Answers how many had nothing in any of the three.
local lanes, count = #ARGV - 2, 0
for i = 1, lanes do
  local queue, started, failed = KEYS[2 * i - 1], KEYS[2 * i], KEYS[2 * lanes + i]
  if redis.call('EXISTS', queue, started, failed) == 0 then
    redis.call('HDEL', ARGV[1], ARGV[i + 2])
    redis.call('SREM', ARGV[2], queue)
    count = count + 1
  end
end
return count
"""

REQUEUE = """
-- KEYS: RQ queue, its registries of started and of failed jobs. ARGV: prefix of RQ job keys, then which leases:
--       'expired', or 'worker' and its name, or 'all', or 'one' and its member.
-- Chunks that come back go to the front: they have waited longest.
local members
if ARGV[2] == 'expired' then members = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', redis.call('TIME')[1])
elseif ARGV[2] == 'one' then members = {ARGV[3]}
else members = redis.call('ZRANGE', KEYS[2], 0, -1) end
local count = 0
for _, member in ipairs(members) do
  local id, worker = string.match(member, '^([^:]*):(.*)$')
  if ARGV[2] ~= 'worker' or worker == ARGV[3] then
    if redis.call('ZREM', KEYS[2], member) == 1 and redis.call('EXISTS', ARGV[1] .. id) == 1 then
      redis.call('HSET', ARGV[1] .. id, 'status', 'queued')
      redis.call('LPUSH', KEYS[1], id)
      count = count + 1
    end
  end
end
-- RQ's own tools clean its registries when they are looked at: they declare chunks of dead workers failed.
for _, id in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
  redis.call('ZREM', KEYS[3], id)
  if redis.call('EXISTS', ARGV[1] .. id) == 1 then
    redis.call('PERSIST', ARGV[1] .. id)
    redis.call('HSET', ARGV[1] .. id, 'status', 'queued')
    redis.call('LPUSH', KEYS[1], id)
    count = count + 1
  end
end
return count
"""

EXPEDITE = """
-- KEYS: target queue, then all queues. ARGV: chunk ids. A chunk that is in no queue is being worked on: left alone.
for _, id in ipairs(ARGV) do
  for i = 2, #KEYS do
    if KEYS[i] ~= KEYS[1] and redis.call('LREM', KEYS[i], 1, id) == 1 then
      redis.call('RPUSH', KEYS[1], id)
      break
    end
  end
end
"""
