#!lua
--[[ Lists moved directories that are due for removal; one that a process works on is due again later.
  KEYS[1] erased, sorted set
  ARGV    maximum number of names to list; or a name and ms until it is due again
  Reply  names, the longest due first; nothing for a name ]]
-- @include ../includes/clock.lua
if ARGV[2] then
  redis.call('ZADD', KEYS[1], 'XX', now_ms + ARGV[2], ARGV[1])
  return {}
end
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now_ms, 'LIMIT', 0, ARGV[1])
