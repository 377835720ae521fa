-- Shared by the scripts on a user's items.
--   KEYS[1]  hash: member → '<created> <updated> <minutes or 0> <JSON of value and index>'
--   KEYS[2]  zset: member by the time of its last write, in µs
--   KEYS[3]  zset: member by its expiry, in ms; members without one are absent
--   KEYS[4]  string: bytes of members, texts and vectors
--   KEYS[5]  hash: member → its vector as text; absent for items without one
-- A member is the labels, each followed by U+001F, then U+001E and the key.
-- @include ../includes/types.lua
-- @include ../includes/clock.lua
for index, kind in ipairs({ 'hash', 'zset', 'zset', 'string', 'hash' }) do
  if is_damaged(KEYS[index], kind) then return { 'damaged', KEYS[index] } end
end
local items, written, expiries, bytes_key, vectors = unpack(KEYS, 1, 5)

local function has_expired(member)
  local expiry = redis.call('ZSCORE', expiries, member)
  return expiry and tonumber(expiry) <= now_ms
end
-- Removes an item; returns whether it existed.
local function drop(member)
  local size = redis.call('HSTRLEN', items, member)
  if size == 0 then return false end
  size = size + redis.call('HSTRLEN', vectors, member)
  redis.call('HDEL', items, member)
  redis.call('HDEL', vectors, member)
  redis.call('ZREM', written, member)
  redis.call('ZREM', expiries, member)
  if redis.call('DECRBY', bytes_key, size + #member) <= 0 then redis.call('DEL', bytes_key) end
  return true
end
-- Removes expired items, at most so many at a time.
local function purge()
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', expiries, '-inf', now_ms, 'LIMIT', 0, 100)) do drop(member) end
end
