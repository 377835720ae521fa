#!lua flags=allow-oom
--[[ Prolongs the lease of a sandbox manager.
  KEYS[1] lease; KEYS[2] number of its renewals, absent once it was released; ARGV[1] ms of the lease, ARGV[2] ms of the number
  Reply  1 when a lease was held before and is absent now, else 0 ]]
local alive, seen = redis.call('EXISTS', KEYS[1]), redis.call('EXISTS', KEYS[2])
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return alive == 0 and seen == 1 and 1 or 0
