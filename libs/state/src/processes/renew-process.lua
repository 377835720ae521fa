#!lua flags=allow-oom
--[[ Prolongs the lease of a process, and names the processes that died lately.
  KEYS[1] sorted set, process id → end of its lease in ms; KEYS[2] hash, process id → since when it has not lapsed
  ARGV    process id, ms of the lease, ms for which the end of a lease is reported and then forgotten
  Reply  {number of living processes, ids of dead ones...} ]]
-- @include ../includes/clock.lua
local process, lease_ms, report_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local MAX = 100
local lease_end = tonumber(redis.call('ZSCORE', KEYS[1], process) or 0)
local since = tonumber(redis.call('HGET', KEYS[2], process) or 0)
if lease_end <= now_ms or since == 0 or since > now_ms then redis.call('HSET', KEYS[2], process, now_ms) end
redis.call('ZADD', KEYS[1], now_ms + lease_ms, process)

-- More than a whole lease is left when the clock went back: a dead process would count as alive for that much longer.
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now_ms + lease_ms, '+inf', 'LIMIT', 0, MAX)) do
  redis.call('ZADD', KEYS[1], now_ms + lease_ms, id)
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now_ms - report_ms, 'LIMIT', 0, MAX)) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
end
-- An installation that is gone for good leaves nothing.
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, lease_ms + 2 * report_ms) end
local dead = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now_ms, 'LIMIT', 0, MAX)
return { redis.call('ZCARD', KEYS[1]) - redis.call('ZCOUNT', KEYS[1], '-inf', now_ms), unpack(dead) }
