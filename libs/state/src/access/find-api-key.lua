#!lua flags=no-writes
--[[ Finds the API key with a secret.
  KEYS[1..4] records, digests, order, used (ApiKeyKeys in script-keys.ts)
  ARGV    digest of the secret
  Reply   {key id, user id, role, label, '1' when its use was not entered in the last minute}; false when no key has it, or the key
          or this secret of it has ended ]]
-- @include ../includes/clock.lua
-- @include api-key.lua
local id = redis.call('HGET', KEYS[2], ARGV[1])
if not id then return false end
local key = cjson.decode(redis.call('HGET', KEYS[1], id))
if has_ended(key) then return false end
if key.digest ~= ARGV[1] then
  local previous = key.previous
  if not previous or previous.digest ~= ARGV[1] or previous['until'] <= now_ms then return false end
end
local used = tonumber(redis.call('HGET', KEYS[4], id) or 0)
return { id, key.userId, key.role, key.label, now_ms - used >= 60000 and '1' or '0' }
