#!lua
--[[ Replaces a document that still has the version that the writer saw. Versions are times, so that none is reused,
  even after a loss of the store.
  KEYS[1] document, hash
  ARGV    version that is replaced (0: there is none), value
  Reply  the new version; 0 when it has another one: nothing is written ]]
-- @include ../includes/clock.lua
local expected, value = unpack(ARGV)
local version = redis.call('HGET', KEYS[1], 'version') or '0'
if version ~= expected then return 0 end
local next_version = math.max(tonumber(version) + 1, now_us)
redis.call('HSET', KEYS[1], 'version', string.format('%.0f', next_version), 'value', value)
return next_version
