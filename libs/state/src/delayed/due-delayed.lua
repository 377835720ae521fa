#!lua flags=no-writes
--[[ Lists runs whose time has come, the longest due first.
  KEYS[1]  delayed runs of all users
  ARGV     limit
  Reply  {ms until the next one is due or -1, {member, …}} ]]
-- @include ../includes/clock.lua
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now_ms, 'LIMIT', 0, ARGV[1])
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return { first[2] and string.format('%.0f', math.max(first[2] - now_ms, 0)) or '-1', due }
