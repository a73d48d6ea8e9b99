"""The steps that must happen in Redis as one: written in Lua, sent whole (Redis caches them by content).

Sent by EVAL and not by hash, so that a Redis that was restarted needs no special case. Keys are handed over,
except those of task documents and chunks, which scripts make from a prefix (Assay does not use Redis Cluster).
"""

HOLD = """
-- KEYS: task refs. ARGV: prefix of document keys, then (document key, packed document or '') pairs.
-- A document that somebody else stored meanwhile is kept; one that is held never expires.
for i = 2, #ARGV, 2 do
  local name = ARGV[1] .. ARGV[i]
  if ARGV[i + 1] ~= '' then redis.call('SET', name, ARGV[i + 1], 'NX') end
  redis.call('PERSIST', name)
  redis.call('HINCRBY', KEYS[1], ARGV[i], 1)
end
"""

STORE = """
-- KEYS: task refs, then the names of stored tasks. ARGV: prefix of document keys, seconds a document outlives its last
--       holder, then what each id is to stand for: the key of its document, a space, the fields of its reference.
-- Lets go of the documents that the ids stood for until now.
for i = 2, #KEYS do
  local before = redis.call('GET', KEYS[i])
  redis.call('SET', KEYS[i], ARGV[i + 1])
  local key = before and string.match(before, '^%S+')
  if key and redis.call('HINCRBY', KEYS[1], key, -1) <= 0 then
    redis.call('HDEL', KEYS[1], key)
    redis.call('EXPIRE', ARGV[1] .. key, ARGV[2])
  end
end
"""

RECORD = """
-- KEYS: 1 batch, 2 recorded, 3 stream, 4 groups, 5 pending, 6 task refs, 7 deadlines, 8 task stats,
--       9 policy versions in those stats, 10 contents of the task
-- ARGV: 1 batch id, 2 index, 3 line up to the number of seq, 4 line after it, 5 outcome, 6 reward or '',
--       7 group as JSON, 8 policy version as JSON or '', 9 now, 10 document ttl, 11 score ttl, 12 stats ttl,
--       13 prefix of document keys, 14 content of the task or ''
-- Answers 1 if this result is the attempt's, 0 if another was first, -1 if the batch is gone.
local meta = redis.call('HMGET', KEYS[1], 'total', 'kind')
if not meta[1] then return -1 end
if redis.call('SETBIT', KEYS[2], ARGV[2], 1) == 1 then return 0 end
local total = tonumber(meta[1])
local reward = ARGV[6]
local seq = redis.call('HINCRBY', KEYS[1], 'done', 1)
redis.call('HINCRBY', KEYS[1], 'o:' .. ARGV[5], 1)
redis.call('DECR', KEYS[5])
if reward ~= '' then
  redis.call('HINCRBY', KEYS[1], 'scored', 1)
  redis.call('HINCRBYFLOAT', KEYS[1], 'sum', reward)
end
local entry = {'XADD', KEYS[3], seq .. '-0', 'i', ARGV[2], 'r', ARGV[3] .. seq .. ARGV[4]}
if meta[2] == 'batch' then
  local group = ARGV[7]
  local left = redis.call('HINCRBY', KEYS[4], 'l' .. group, -1)
  if reward ~= '' then
    redis.call('HINCRBY', KEYS[4], 's' .. group, 1)
    redis.call('HINCRBYFLOAT', KEYS[4], 'r' .. group, reward)
  end
  if left == 0 then
    local sums = redis.call('HMGET', KEYS[4], 'n' .. group, 's' .. group, 'r' .. group)
    local scored = tonumber(sums[2] or '0')
    local mean = 'null'
    if scored > 0 then mean = string.format('%.12g', tonumber(sums[3]) / scored) end
    entry[#entry + 1] = 'e'
    entry[#entry + 1] = '{"event":"group","batch_id":"' .. ARGV[1] .. '","seq":' .. seq .. ',"group":' .. group
      .. ',"attempts":' .. sums[1] .. ',"scored":' .. scored .. ',"mean_reward":' .. mean .. '}'
  end
end
redis.call(unpack(entry))
if ARGV[5] ~= 'cancelled' and ARGV[14] ~= '' then
  for _, key in ipairs(ARGV[8] ~= '' and {'', 'v' .. ARGV[8] .. ':'} or {''}) do
    if redis.call('HINCRBY', KEYS[8], key .. 'n', 1) == 1 and key ~= '' then
      -- A policy version that is new to this task: only the latest are kept.
      redis.call('RPUSH', KEYS[9], key)
      redis.call('EXPIRE', KEYS[9], ARGV[12])
      if redis.call('LLEN', KEYS[9]) > 100 then
        local oldest = redis.call('LPOP', KEYS[9])
        redis.call('HDEL', KEYS[8], oldest .. 'n', oldest .. 'passed', oldest .. 'scored', oldest .. 'sum')
      end
    end
    if ARGV[5] == 'passed' then redis.call('HINCRBY', KEYS[8], key .. 'passed', 1) end
    if reward ~= '' then
      redis.call('HINCRBY', KEYS[8], key .. 'scored', 1)
      redis.call('HINCRBYFLOAT', KEYS[8], key .. 'sum', reward)
    end
  end
  redis.call('HSET', KEYS[8], 'last', ARGV[9])
  redis.call('EXPIRE', KEYS[8], ARGV[12])
  redis.call('ZADD', KEYS[10], ARGV[9], ARGV[14])
  redis.call('ZREMRANGEBYSCORE', KEYS[10], '-inf', ARGV[9] - ARGV[12])
  redis.call('EXPIRE', KEYS[10], ARGV[12])
end
if seq == total then
  redis.call('HSET', KEYS[1], 'finished', ARGV[9])
  for key in string.gmatch(redis.call('HGET', KEYS[1], 'docs') or '', '%S+') do
    if redis.call('HINCRBY', KEYS[6], key, -1) <= 0 then
      redis.call('HDEL', KEYS[6], key)
      redis.call('EXPIRE', ARGV[13] .. key, ARGV[10])
    end
  end
  redis.call('HDEL', KEYS[1], 'docs')
  redis.call('ZREM', KEYS[7], ARGV[1])
  if meta[2] == 'score' then
    for i = 1, 4 do redis.call('EXPIRE', KEYS[i], ARGV[11]) end
  end
end
return 1
"""

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

ADOPT = """
-- KEYS: (batch, its bitmap) pairs. ARGV: now. Marks batches as started; answers each bitmap, or false for a batch
-- that is gone.
local answer = {}
for i = 1, #KEYS, 2 do
  if redis.call('EXISTS', KEYS[i]) == 1 then
    redis.call('HSETNX', KEYS[i], 'started', ARGV[1])
    answer[#answer + 1] = redis.call('GET', KEYS[i + 1]) or ''
  else
    answer[#answer + 1] = false
  end
end
return answer
"""
