#!lua
--[[ Gives an API key a new secret. The replaced one is accepted for the time of the overlap, any earlier one ends.
  KEYS[1..4] records, digests, order, used (ApiKeyKeys in script-keys.ts)
  KEYS[5] audit, stream
  ARGV    key id, digest of the new secret, ms of overlap, line of the audit, most lines
  Reply   {'rotated', record, now in ms, ms of its last use or ''}; {'missing'}, {'ended'}: nothing is written ]]
-- @include ../includes/clock.lua
-- @include enter-change.lua
-- @include api-key.lua
local id, digest, overlap_ms, line, max_lines = unpack(ARGV)
local text = redis.call('HGET', KEYS[1], id)
if not text then return { 'missing' } end
local key = cjson.decode(text)
if has_ended(key) then return { 'ended' } end
forget_digests(KEYS[2], key)
key.previous = nil
if tonumber(overlap_ms) > 0 then
  key.previous = { digest = key.digest, ['until'] = now_ms + overlap_ms }
  redis.call('HSET', KEYS[2], key.digest, id)
end
key.digest, key.rotatedAt = digest, now_ms
local record = cjson.encode(key)
redis.call('HSET', KEYS[1], id, record)
redis.call('HSET', KEYS[2], digest, id)
enter_change(KEYS[5], line, max_lines)
return { 'rotated', record, now_ms, redis.call('HGET', KEYS[4], id) or '' }
