#!lua flags=allow-oom
--[[ Enters that a manager has changes of a thread's files that are not stored yet. A thread without files gets a first generation that is
     empty, so that readers of it ask the manager, too.
  KEYS    the thread's files, hash (generations.lua); threads of the user with files, sorted set; threads with changes that the machine
          has not stored, sorted set
  ARGV    manager, machine, new home, thread id, its member in the third set and in the hash of erasures; keys of the thread's binding and
          of that hash ('' for none), which managers may only read
  Reply  {'ok'}; {'fenced'}, {'erasing'}: nothing is written ]]
-- @include ../includes/clock.lua
-- @include generations.lua
-- @include first-home.lua
-- @include unpublished.lua
local manager, machine, new_home, thread_id, member, binding_key, erasing_key = unpack(ARGV)
if is_erasing(erasing_key, member) then return { 'erasing' } end
if redis.call('HGET', binding_key, 'manager') ~= manager then return { 'fenced' } end
local key = KEYS[1]
if redis.call('HEXISTS', key, 'home') == 0 then
  make_home(key, KEYS[2], { home = new_home, thread_id = thread_id, is_complete = true })
  set_generation(key, '1', '', '')
  redis.call('HSET', key, 'bytes', '0', 'files', '0')
end
local noted = redis.call('HGET', key, 'unpublished')
-- Those of another machine are given up by the manager that takes the files over, and by nobody else.
if not noted or (noted:match('^%S+') ~= manager and noted:match('^%S+ (%S+)') == machine) then
  redis.call('HSET', key, 'machine', machine)
  note_unpublished(key, KEYS[3], manager, machine, member, now_ms)
end
return { 'ok' }
