#!lua
--[[ Replaces the record of a skill that a user installed by another one of the same skill, whose size is the same.
  KEYS[1] skills of the user, hash; see add-skill.lua
  ARGV    name, the record that is expected, the new record
  Reply   1; 0 when the record is another one or gone: nothing is written ]]
local name, expected, record = unpack(ARGV)
if redis.call('HGET', KEYS[1], 'c:' .. name) ~= expected then return 0 end
redis.call('HSET', KEYS[1], 'c:' .. name, record)
return 1
