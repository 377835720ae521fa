#!lua
--[[ Writes or replaces an item.
  KEYS  items.lua
  ARGV  member, JSON, minutes until it expires (0: never), most items, most bytes of the user, vector ('' for none)
  Reply  {'written'}; {'items', how many}, {'bytes', how many}: over a limit; {'damaged', key}: nothing else is written ]]
-- @include items.lua
purge()
local member, json, minutes = ARGV[1], ARGV[2], tonumber(ARGV[3])
local before = not has_expired(member) and redis.call('HGET', items, member)
if not before then drop(member) end
local count = redis.call('HLEN', items)
if not before and count >= tonumber(ARGV[4]) then return { 'items', count } end
local created = before and before:match('^(%S+)') or now_iso
local text = created .. ' ' .. now_iso .. ' ' .. string.format('%.0f', minutes) .. ' ' .. json
local bytes = tonumber(redis.call('GET', bytes_key) or 0)
local vector = ARGV[6]
local added = #text + #vector - redis.call('HSTRLEN', vectors, member) - (before and #before or -#member)
if added > 0 and bytes + added > tonumber(ARGV[5]) then return { 'bytes', bytes } end
redis.call('HSET', items, member, text)
if vector == '' then redis.call('HDEL', vectors, member) else redis.call('HSET', vectors, member, vector) end
redis.call('ZADD', written, string.format('%.0f', now_us), member)
if minutes > 0 then redis.call('ZADD', expiries, string.format('%.0f', now_ms + minutes * 60000), member)
else redis.call('ZREM', expiries, member) end
redis.call('INCRBY', bytes_key, added)
return { 'written' }
