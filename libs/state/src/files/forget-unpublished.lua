#!lua flags=allow-oom
--[[ Takes a thread out of the set of a machine, unless that still has changes which are not stored.
  KEYS    the thread's files, hash (generations.lua); threads with changes that the machine has not stored, sorted set
  ARGV    machine, the thread's member in the set ]]
local machine, member = unpack(ARGV)
local noted = redis.call('HGET', KEYS[1], 'unpublished')
if not noted or noted:match('^%S+ (%S+)') ~= machine then redis.call('ZREM', KEYS[2], member) end
return 1
