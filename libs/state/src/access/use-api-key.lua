#!lua
--[[ Enters that an API key is used, unless it was removed.
  KEYS[1..4] records, digests, order, used (ApiKeyKeys in script-keys.ts)
  ARGV    key id
  Reply   1; 0: nothing is written ]]
-- @include ../includes/clock.lua
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[4], ARGV[1], string.format('%d', now_ms))
return 1
