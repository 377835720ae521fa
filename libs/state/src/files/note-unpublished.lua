#!lua flags=allow-oom
--[[ Enters that a manager has changes of a thread's files that are not stored yet.
  KEYS[1] the thread's files, hash (generations.lua)
  ARGV    manager, machine, key of the thread's binding, which managers may only read
  Reply  {'ok'}; {'fenced'}: nothing is written ]]
-- @include ../includes/clock.lua
local manager, machine, binding_key = unpack(ARGV)
if redis.call('HGET', binding_key, 'manager') ~= manager then return { 'fenced' } end
local noted = redis.call('HGET', KEYS[1], 'unpublished')
if not noted or noted:match('^%S+') ~= manager then
  redis.call('HSET', KEYS[1], 'unpublished', manager .. ' ' .. machine .. ' ' .. string.format('%.0f', now_ms))
end
return { 'ok' }
