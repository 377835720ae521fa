-- Shared by the scripts on a user's assistants.
--   KEYS[1]  hash: `m:<id>` '<revision> <current version> <newest version> <created> <updated>', `c:<id>` content of the current version
--   KEYS[2]  hash: `<id>:<version>` '<created> <content>'; `#`: bytes of all versions
--   ARGV[1]  id
-- @include ../includes/types.lua
for index, key in ipairs(KEYS) do
  if index <= 2 and is_damaged(key, 'hash') then return { 'damaged', key } end
end
local heads, versions, id = KEYS[1], KEYS[2], ARGV[1]
local function version_field(number) return id .. ':' .. string.format('%.0f', number) end
local function read_meta()
  local meta = redis.call('HGET', heads, 'm:' .. id)
  if not meta then return nil end
  local revision, current, newest, created, updated = meta:match('^(%d+) (%d+) (%d+) (%S+) (%S+)$')
  return { revision = revision, current = current, newest = tonumber(newest), created = created, updated = updated }
end
local function write_head(meta, content)
  local text = string.format('%s %s %.0f %s %s', meta.revision, meta.current, meta.newest, meta.created, meta.updated)
  redis.call('HSET', heads, 'm:' .. id, text, 'c:' .. id, content)
  return text
end
-- Removes a version; its bytes no longer count.
local function drop_version(number)
  local field = version_field(number)
  local bytes = redis.call('HSTRLEN', versions, field)
  if bytes > 0 then
    redis.call('HDEL', versions, field)
    redis.call('HINCRBY', versions, '#', -bytes)
  end
end
