#!lua flags=allow-oom
--[[ Removes the entry that changes of a thread's files are lost, as a result says so.
  KEYS    the thread's files, hash (generations.lua)
  ARGV    manager, since when changes are lost (ms) as the result says it; key of the thread's binding, which managers may only read
  Reply   1. Nothing is written when the thread is bound to another manager, or when the entry is another one ]]
local manager, since, binding_key = unpack(ARGV)
local is_bound = redis.call('HGET', binding_key, 'manager') == manager
if is_bound and redis.call('HGET', KEYS[1], 'lost') == since then redis.call('HDEL', KEYS[1], 'lost') end
return 1
