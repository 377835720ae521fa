#!lua
--[[ Adds a skill that a user installed. A new one has no switch, even if an earlier one of its name had.
  KEYS[1] skills of the user, hash: `c:<name>` the record, `e:<name>` its switch, `count` and `bytes` of all records
  ARGV    name, record, its bytes, most records, most bytes of all
  Reply   'added'; 'taken' when a skill has the name, 'full' when a limit would be exceeded: nothing is written ]]
local name, record, bytes, max_count, max_bytes = unpack(ARGV)
local known = redis.call('HMGET', KEYS[1], 'c:' .. name, 'count', 'bytes')
if known[1] then return 'taken' end
local count = tonumber(known[2] or 0) + 1
local total = tonumber(known[3] or 0) + tonumber(bytes)
if count > tonumber(max_count) or total > tonumber(max_bytes) then return 'full' end
redis.call('HSET', KEYS[1], 'c:' .. name, record, 'count', count, 'bytes', string.format('%d', total))
redis.call('HDEL', KEYS[1], 'e:' .. name)
return 'added'
