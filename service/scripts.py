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

FILE = f"""
-- KEYS: task refs, marker, pending. ARGV: as of HOLD, but before these: seconds that the marker stands, how many
-- attempts come, how many may be pending with them, and the commands that file them as msgpack.
-- Answers how many are pending if there is no room for these, -1 once they are filed, also if they were before.
if redis.call('EXISTS', KEYS[2]) == 1 then return -1 end
local seconds, attempts, most = table.remove(ARGV, 1), table.remove(ARGV, 1), table.remove(ARGV, 1)
local commands = cmsgpack.unpack(table.remove(ARGV, 1))
local pending = tonumber(redis.call('GET', KEYS[3]) or '0')
if pending + attempts > tonumber(most) then return pending end
redis.call('SET', KEYS[2], '1', 'EX', seconds)
{HOLD}
for _, command in ipairs(commands) do redis.call(unpack(command)) end
return -1
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
-- KEYS: 1 pending, 2 task refs, 3 deadlines, 4 ripe groups.
-- ARGV: 1 offers as msgpack, 2 now, 3 document ttl, 4 score ttl, 5 stats ttl, 6 prefix of document keys,
--       7 channel on which 8 is told afterwards, batches with news as msgpack, if that is not empty, 9 chunks to forget
--       as msgpack. A score that is complete by these offers alone is told with its lines, unless those are large.
-- A chunk: 1 registry of started jobs, 2 member of that, 3 RQ job, 4 chunk, 5 its id, then sets that hold this.
-- An offer: keys of 1 batch, 2 recorded, 3 stream, 4 groups, 5 task stats, 6 policy versions in those stats,
--       7 contents of the task; 8 batch id, 9 index, 10 line up to the number of seq, 11 line after it, 12 outcome,
--       13 reward or '', 14 group as JSON, 15 policy version as JSON or '', 16 content of the task or '',
--       17 'withhold' for a result that must wait for its group (10 is then the packed result), 'release' for one that
--       has waited, else '', 18 key of the withheld results of the group.
-- Answers for each offer 1 if this result is the attempt's, 2 if now, besides, all results of its group that are not
-- handed out are withheld (the group is ripe), 0 if another was first, -1 if the batch is gone.
-- Counters of a batch, a group or a task are written once for all offers: each command costs a microsecond or two.
local now = ARGV[2]
local batches, groups, tasks, answered = {}, {}, {}, {}

local function opened(known, key, read)
  if not known[key] then known[key] = read() end
  return known[key]
end

local function count(counts, field)
  counts[field] = (counts[field] or 0) + 1
end

local function add(key, counts)
  for field, number in pairs(counts) do redis.call('HINCRBY', key, field, number) end
end

local function group_of(offer)
  local name = offer[14]
  return opened(groups, offer[4] .. name, function()
    local found = redis.call('HMGET', offer[4], 'n' .. name, 'l' .. name, 's' .. name)
    return {key = offer[4], name = name, attempts = found[1], left = tonumber(found[2] or '0'),
      scored = tonumber(found[3] or '0')}
  end)
end

-- Marks the group as ripe if all of its results that are not handed out are withheld; returns the answer.
local function ripened(offer)
  local waiting = redis.call('HLEN', offer[18])
  if waiting == 0 or waiting ~= group_of(offer).left then return 1 end
  redis.call('ZADD', KEYS[4], redis.call('TIME')[1], offer[8] .. ' ' .. offer[14])
  return 2
end

-- Counts a result in its group; returns the event of a group that is complete.
local function add_to_group(offer, seq)
  local group, name, reward = group_of(offer), offer[14], offer[13]
  group.left = group.left - 1
  if reward ~= '' then
    group.scored = group.scored + 1
    group.sum = redis.call('HINCRBYFLOAT', group.key, 'r' .. name, reward)
  end
  if group.left ~= 0 then return nil end -- below 0: the batch knows no such group
  local mean = 'null'
  if group.scored > 0 then
    mean = string.format('%.12g', tonumber(group.sum or redis.call('HGET', group.key, 'r' .. name)) / group.scored)
  end
  return '{"event":"group","batch_id":"' .. offer[8] .. '","seq":' .. seq .. ',"group":' .. name .. ',"attempts":'
    .. group.attempts .. ',"scored":' .. group.scored .. ',"mean_reward":' .. mean .. '}'
end

local function add_to_task(offer)
  local task = opened(tasks, offer[5], function() return {offer = offer, versions = {}} end)
  for _, key in ipairs(offer[15] ~= '' and {'', 'v' .. offer[15] .. ':'} or {''}) do
    local counts = opened(task.versions, key, function() return {} end)
    count(counts, key .. 'n')
    if offer[12] == 'passed' then count(counts, key .. 'passed') end
    if offer[13] ~= '' then
      count(counts, key .. 'scored')
      redis.call('HINCRBYFLOAT', offer[5], key .. 'sum', offer[13])
    end
  end
end

local function record(offer)
  local batch = opened(batches, offer[1], function()
    local meta = redis.call('HMGET', offer[1], 'total', 'kind', 'done', 'withheld')
    return {offer = offer, total = tonumber(meta[1]), kind = meta[2], done = tonumber(meta[3]),
      withheld = tonumber(meta[4] or '0'), counts = {}, lines = {}, size = 0}
  end)
  if not batch.total then return -1 end
  local way = offer[17]
  if way == 'release' then
    if redis.call('HDEL', offer[18], offer[9]) == 0 then return 0 end
    batch.withheld = redis.call('HINCRBY', offer[1], 'withheld', -1)
  elseif redis.call('SETBIT', offer[2], offer[9], 1) == 1 then
    return 0
  end
  if way == 'withhold' then
    redis.call('HSET', offer[18], offer[9], offer[10])
    batch.withheld = redis.call('HINCRBY', offer[1], 'withheld', 1)
    return ripened(offer)
  end
  batch.done = batch.done + 1
  count(batch.counts, 'done')
  count(batch.counts, 'o:' .. offer[12])
  if offer[13] ~= '' then
    count(batch.counts, 'scored')
    redis.call('HINCRBYFLOAT', offer[1], 'sum', offer[13])
  end
  local line = offer[10] .. batch.done .. offer[11]
  local entry = {'XADD', offer[3], batch.done .. '-0', 'i', offer[9], 'r', line}
  if batch.kind == 'score' then
    batch.lines[#batch.lines + 1] = {tonumber(offer[9]), line}
    batch.size = batch.size + #line
  end
  local event = add_to_group(offer, batch.done)
  if event and batch.kind == 'batch' then
    entry[#entry + 1] = 'e'
    entry[#entry + 1] = event
  end
  redis.call(unpack(entry))
  if offer[12] ~= 'cancelled' and offer[16] ~= '' then add_to_task(offer) end
  if way == 'release' then
    if redis.call('EXISTS', offer[18]) == 0 then redis.call('ZREM', KEYS[4], offer[8] .. ' ' .. offer[14]) end
    return 1
  end
  return batch.withheld > 0 and ripened(offer) or 1
end

local function finish(batch)
  local key = batch.offer[1]
  redis.call('HSET', key, 'finished', now)
  for name in string.gmatch(redis.call('HGET', key, 'docs') or '', '%S+') do
    if redis.call('HINCRBY', KEYS[2], name, -1) <= 0 then
      redis.call('HDEL', KEYS[2], name)
      redis.call('EXPIRE', ARGV[6] .. name, ARGV[3])
    end
  end
  redis.call('HDEL', key, 'docs')
  redis.call('ZREM', KEYS[3], batch.offer[8])
  if batch.kind == 'score' then
    for i = 1, 4 do redis.call('EXPIRE', batch.offer[i], ARGV[4]) end
    if #batch.lines == batch.total and batch.size <= 65536 then answered[batch.offer[8]] = batch.lines end
  end
end

-- Returns a score's id with its lines in order of input.
local function told(id)
  local lines, message = answered[id], {id}
  table.sort(lines, function(one, other) return one[1] < other[1] end)
  for i, line in ipairs(lines) do message[i + 1] = line[2] end
  return message
end

-- Writes a task's counters. A policy version that is new to it: only the latest are kept.
local function close_task(task)
  local stats, versions, contents = task.offer[5], task.offer[6], task.offer[7]
  for key, counts in pairs(task.versions) do
    add(stats, counts)
    if key ~= '' and tonumber(redis.call('HGET', stats, key .. 'n')) == counts[key .. 'n'] then
      redis.call('RPUSH', versions, key)
      redis.call('EXPIRE', versions, ARGV[5])
      if redis.call('LLEN', versions) > 100 then
        local oldest = redis.call('LPOP', versions)
        redis.call('HDEL', stats, oldest .. 'n', oldest .. 'passed', oldest .. 'scored', oldest .. 'sum')
      end
    end
  end
  redis.call('HSET', stats, 'last', now)
  redis.call('EXPIRE', stats, ARGV[5])
  redis.call('ZADD', contents, now, task.offer[16])
  redis.call('ZREMRANGEBYSCORE', contents, '-inf', now - ARGV[5])
  redis.call('EXPIRE', contents, ARGV[5])
end

local answers = {}
for number, offer in ipairs(cmsgpack.unpack(ARGV[1])) do answers[number] = record(offer) end
for _, group in pairs(groups) do
  redis.call('HSET', group.key, 'l' .. group.name, group.left, 's' .. group.name, group.scored)
end
for key, batch in pairs(batches) do
  if batch.counts.done then
    redis.call('DECRBY', KEYS[1], batch.counts.done)
    add(key, batch.counts)
    if batch.done == batch.total then finish(batch) end
  end
end
for _, task in pairs(tasks) do close_task(task) end
for _, chunk in ipairs(cmsgpack.unpack(ARGV[9])) do
  redis.call('ZREM', chunk[1], chunk[2])
  redis.call('DEL', chunk[3], chunk[4])
  for i = 6, #chunk do redis.call('SREM', chunk[i], chunk[5]) end
end
if ARGV[8] ~= '' then
  local news = cmsgpack.unpack(ARGV[8])
  for i, id in ipairs(news) do
    if answered[id] then news[i] = told(id) end
  end
  redis.call('PUBLISH', ARGV[7], cmsgpack.pack(news))
end
return answers
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
