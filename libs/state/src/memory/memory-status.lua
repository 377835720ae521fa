#!lua flags=no-writes
--[[ How a user's extractions stand.
  KEYS[1] user's due; KEYS[2] running; KEYS[3] what was given up
  Reply  {due, running, {JSON of what was given up, newest first}} ]]
-- @include ../includes/clock.lua
return { redis.call('ZCARD', KEYS[1]), redis.call('ZCOUNT', KEYS[2], now_ms, '+inf'), redis.call('LRANGE', KEYS[3], 0, -1) }
