#!lua
--[[ Acquires the right to one call of a model, or a position in the queue for it.
  KEYS[1] circuit, hash: failures (in a row), open_until (ms; absent while closed), probe, probe_until (ms)
  KEYS[2] slots, KEYS[3] queue, KEYS[4] waiting: sorted sets of tokens
  KEYS[5] turns, hash: user → round of his newest call in the queue
  ARGV    token, maximum number of concurrent calls (0: no limit), ms of the lease, ms for which a token stays
          in the queue without polling, ms for which the circuit is stored, user who makes the call
  Reply  {'open', ms until a retry makes sense}; {'wait'}: the token is in the queue;
         {'go', failures in a row, 1 for the probe} ]]
-- @include ../includes/clock.lua
local token, limit, lease_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
-- Users take turns: a call has a place in a round, which is after that of its user's newest call and not before the round that is
-- being served. Within a round the order is that of arrival.
local ROUND = 10000000
local function join_queue(user)
  if redis.call('ZSCORE', KEYS[3], token) then return end
  local first = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')[2] or now_us
  local round = math.floor(first / ROUND)
  local newest = redis.call('HGET', KEYS[5], user)
  if newest then round = math.max(round, newest + 1) end
  redis.call('HSET', KEYS[5], user, string.format('%.0f', round))
  redis.call('ZADD', KEYS[3], string.format('%.0f', round * ROUND + now_ms % ROUND), token)
end

local circuit = redis.call('HMGET', KEYS[1], 'failures', 'open_until', 'probe_until')
local failures = tonumber(circuit[1] or 0)
local is_open = circuit[2] ~= false
local refused_until = math.max(tonumber(circuit[2] or 0), tonumber(circuit[3] or 0))

if refused_until > now_ms then
  redis.call('ZREM', KEYS[3], token)
  redis.call('ZREM', KEYS[4], token)
  return { 'open', refused_until - now_ms }
end

if limit > 0 then
  for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now_ms)) do
    redis.call('ZREM', KEYS[3], gone)
    redis.call('ZREM', KEYS[4], gone)
  end
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now_ms)
  local free = limit - redis.call('ZCARD', KEYS[2])
  local ahead = redis.call('ZRANK', KEYS[3], token) or redis.call('ZCARD', KEYS[3])
  if ahead >= free then
    join_queue(ARGV[6])
    redis.call('ZADD', KEYS[4], now_ms + ARGV[4], token)
    for _, key in ipairs({ KEYS[3], KEYS[5] }) do redis.call('PEXPIRE', key, ARGV[4]) end
    redis.call('PEXPIRE', KEYS[4], ARGV[4])
    return { 'wait' }
  end
  redis.call('ZREM', KEYS[3], token)
  redis.call('ZREM', KEYS[4], token)
  redis.call('ZADD', KEYS[2], now_ms + lease_ms, token)
  redis.call('PEXPIRE', KEYS[2], lease_ms)
end

if not is_open then return { 'go', failures, 0 } end
redis.call('HSET', KEYS[1], 'probe', token, 'probe_until', now_ms + lease_ms)
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return { 'go', failures, 1 }
