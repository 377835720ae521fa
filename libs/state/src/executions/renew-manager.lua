#!lua flags=allow-oom
--[[ Prolongs the lease of a sandbox manager.
  KEYS[1] lease; KEYS[2] number of its renewals, absent once it was released; KEYS[3] all managers: sorted set, manager → end of its
          lease in ms
  ARGV    ms of the lease, ms of the number, manager, ms for which the end of a lease is reported
  Reply  1 when a lease was held before and is absent now, else 0 ]]
-- @include ../includes/clock.lua
local lease_ms, report_ms = tonumber(ARGV[1]), tonumber(ARGV[4])
local alive, seen = redis.call('EXISTS', KEYS[1]), redis.call('EXISTS', KEYS[2])
redis.call('SET', KEYS[1], '1', 'PX', lease_ms)
redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
redis.call('ZADD', KEYS[3], now_ms + lease_ms, ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now_ms - report_ms)
redis.call('PEXPIRE', KEYS[3], lease_ms + 2 * report_ms)
return alive == 0 and seen == 1 and 1 or 0
