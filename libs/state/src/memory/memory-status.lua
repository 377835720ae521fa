#!lua flags=no-writes
--[[ Reads the state of a user's extractions.
  KEYS[1] user's due; KEYS[2] running; KEYS[3] failed extractions
  Reply  {due, running, {JSON of each failed extraction, newest first}} ]]
-- @include ../includes/clock.lua
return { redis.call('ZCARD', KEYS[1]), redis.call('ZCOUNT', KEYS[2], now_ms, '+inf'), redis.call('LRANGE', KEYS[3], 0, -1) }
