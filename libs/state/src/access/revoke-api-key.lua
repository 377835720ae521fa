#!lua flags=allow-oom
--[[ Ends an API key; its record stays in the list.
  KEYS[1..4] records, digests, order, used (ApiKeyKeys in script-keys.ts)
  KEYS[5] audit, stream
  ARGV    key id, line of the audit, most lines
  Reply   'revoked'; 'missing', or 'already': nothing is written ]]
-- @include ../includes/clock.lua
-- @include enter-change.lua
-- @include api-key.lua
local id, line, max_lines = unpack(ARGV)
local text = redis.call('HGET', KEYS[1], id)
if not text then return 'missing' end
local key = cjson.decode(text)
if key.revokedAt then return 'already' end
forget_digests(KEYS[2], key)
key.previous, key.revokedAt = nil, now_ms
redis.call('HSET', KEYS[1], id, cjson.encode(key))
enter_change(KEYS[5], line, max_lines)
return 'revoked'
