#!lua flags=allow-oom
--[[ Releases the slot, the probe and the queue position of a token, and counts the outcome of its call.
  KEYS[1] circuit; KEYS[2] slots; KEYS[3] queue; KEYS[4] waiting
  ARGV    token, outcome ('answered', 'failed' or 'unknown'), failures that open the circuit, ms until a probe,
          ms for which the circuit is stored
  Reply  failures in a row; -1 when the circuit is not closed ]]
-- @include ../includes/clock.lua
local token, outcome = ARGV[1], ARGV[2]
local circuit = redis.call('HMGET', KEYS[1], 'failures', 'open_until', 'probe')
local failures, open_until, probes = tonumber(circuit[1] or 0), circuit[2], circuit[3] == token
for at = 2, 4 do redis.call('ZREM', KEYS[at], token) end

-- While the circuit is not closed, the outcomes of calls admitted before are ignored.
if open_until and not probes then return -1 end
if outcome == 'answered' then
  redis.call('DEL', KEYS[1])
  return 0
end
if outcome == 'unknown' then
  redis.call('HDEL', KEYS[1], 'probe', 'probe_until')
  return open_until and -1 or failures
end
failures = failures + 1
redis.call('HSET', KEYS[1], 'failures', failures)
redis.call('HDEL', KEYS[1], 'probe', 'probe_until')
redis.call('PEXPIRE', KEYS[1], ARGV[5])
if not open_until and failures < tonumber(ARGV[3]) then return failures end
redis.call('HSET', KEYS[1], 'open_until', now_ms + ARGV[4])
return -1
