#!lua flags=no-writes
--[[ Lists threads with an interrupt whose deadline has passed, the oldest deadline first.
  KEYS   the sorted set of threads by their first deadline
  ARGV   how many to pass over, how many to list
  Reply  {time in ms, member, …} ]]
-- @include ../includes/clock.lua
local found = redis.call('ZRANGE', KEYS[1], '-inf', string.format('%.0f', now_ms), 'BYSCORE', 'LIMIT', ARGV[1], ARGV[2])
table.insert(found, 1, string.format('%.0f', now_ms))
return found
