#!lua flags=allow-oom
--[[ Renews the slot and the probe of a call. An expired slot or probe is not acquired again.
  KEYS[1] circuit; KEYS[2] slots; ARGV[1] token, ARGV[2] ms of the lease
  Reply  nil ]]
-- @include ../includes/clock.lua
local lease_end = now_ms + ARGV[2]
if redis.call('ZADD', KEYS[2], 'XX', 'CH', lease_end, ARGV[1]) == 1 then
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
end
if redis.call('HGET', KEYS[1], 'probe') == ARGV[1] then
  redis.call('HSET', KEYS[1], 'probe_until', lease_end)
end
return nil
