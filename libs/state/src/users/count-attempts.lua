#!lua
--[[ Counts an attempt on each of the counters, whose windows begin with their first attempt.
  KEYS    counters
  ARGV    ms of a window, then the limit of each counter
  Reply   0; ms until the next attempt is allowed when a limit is reached: nothing is counted ]]
local window_ms = tonumber(ARGV[1])
local wait_ms = 0
for at, key in ipairs(KEYS) do
  local count = tonumber(redis.call('GET', key) or 0)
  if count >= tonumber(ARGV[at + 1]) then wait_ms = math.max(wait_ms, 1, redis.call('PTTL', key)) end
end
if wait_ms > 0 then return wait_ms end
for _, key in ipairs(KEYS) do
  if redis.call('INCR', key) == 1 then redis.call('PEXPIRE', key, window_ms) end
end
return 0
