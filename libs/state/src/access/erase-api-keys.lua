#!lua flags=allow-oom
--[[ Removes all API keys of a user.
  KEYS[1..4] records, digests, order, used (ApiKeyKeys in script-keys.ts)
  ARGV    user id
  Reply   how many there were ]]
-- @include ../includes/clock.lua
-- @include api-key.lua
local removed = 0
for _, id in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
  local key = cjson.decode(redis.call('HGET', KEYS[1], id))
  if key.userId == ARGV[1] then
    forget_digests(KEYS[2], key)
    redis.call('HDEL', KEYS[1], id)
    redis.call('HDEL', KEYS[4], id)
    redis.call('ZREM', KEYS[3], id)
    removed = removed + 1
  end
end
return removed
