#!lua flags=allow-oom
--[[ Removes a skill that a user installed, and its switch.
  KEYS[1] skills of the user, hash; see add-skill.lua
  ARGV    name
  Reply   the record; nil when there is none: nothing is written ]]
local name = ARGV[1]
local record = redis.call('HGET', KEYS[1], 'c:' .. name)
if not record then return false end
redis.call('HDEL', KEYS[1], 'c:' .. name, 'e:' .. name)
redis.call('HINCRBY', KEYS[1], 'count', -1)
redis.call('HINCRBY', KEYS[1], 'bytes', string.format('%d', -cjson.decode(record).bytes))
return record
