#!lua flags=no-writes
--[[ Lists API keys, the newest first.
  KEYS[1..4] records, digests, order, used (ApiKeyKeys in script-keys.ts)
  ARGV    keys to skip, most keys to list
  Reply   {now in ms, number of all keys, key id, record, ms of its last use or '', ...} ]]
-- @include ../includes/clock.lua
local skip, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local reply = { now_ms, redis.call('ZCARD', KEYS[3]) }
if most <= 0 then return reply end
for _, id in ipairs(redis.call('ZREVRANGE', KEYS[3], skip, skip + most - 1)) do
  reply[#reply + 1] = id
  reply[#reply + 1] = redis.call('HGET', KEYS[1], id)
  reply[#reply + 1] = redis.call('HGET', KEYS[4], id) or ''
end
return reply
