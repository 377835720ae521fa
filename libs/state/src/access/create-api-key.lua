#!lua
--[[ Stores a new API key. When there are as many as there may be, the oldest one that has ended is removed for it.
  KEYS[1..4] records, digests, order, used (ApiKeyKeys in script-keys.ts)
  KEYS[5] audit, stream
  KEYS[6] erasing, hash
  ARGV    key id, record without the time of its creation, most keys, line of the audit, most lines
  Reply   {'created', record, now in ms}; {'past'} when its end is over, {'full'}, {'erasing'} while its user is erased: nothing is written ]]
-- @include ../includes/clock.lua
-- @include enter-change.lua
-- @include api-key.lua
local id, text, max_keys, line, max_lines = unpack(ARGV)
local key = cjson.decode(text)
if key.expiresAt and key.expiresAt <= now_ms then return { 'past' } end
if redis.call('HEXISTS', KEYS[6], key.userId) == 1 then return { 'erasing' } end
if redis.call('HLEN', KEYS[1]) >= tonumber(max_keys) then
  local ended
  for _, other_id in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
    local other = cjson.decode(redis.call('HGET', KEYS[1], other_id))
    if has_ended(other) then
      ended = { id = other_id, key = other }
      break
    end
  end
  if not ended then return { 'full' } end
  forget_digests(KEYS[2], ended.key)
  redis.call('HDEL', KEYS[1], ended.id)
  redis.call('HDEL', KEYS[4], ended.id)
  redis.call('ZREM', KEYS[3], ended.id)
end
key.createdAt = now_ms
local record = cjson.encode(key)
redis.call('HSET', KEYS[1], id, record)
redis.call('HSET', KEYS[2], key.digest, id)
redis.call('ZADD', KEYS[3], now_ms, id)
enter_change(KEYS[5], line, max_lines)
return { 'created', record, now_ms }
