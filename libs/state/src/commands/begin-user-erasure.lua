#!lua flags=allow-oom
--[[ Begins to erase a user, or answers with the erasure that is under way.
  KEYS[1] erasing, hash; KEYS[2] the user's runs in flight, set
  ARGV[1] the user
  Reply  token; nil while a run is in flight: nothing is written ]]
-- @include clock.lua
if redis.call('SCARD', KEYS[2]) > 0 then return false end
redis.call('HSETNX', KEYS[1], ARGV[1], string.format('%.0f', now_us))
return redis.call('HGET', KEYS[1], ARGV[1])
