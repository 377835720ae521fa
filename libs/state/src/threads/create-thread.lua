#!lua
--[[ Creates a thread, or returns the existing one.
  KEYS, ARGV  thread.lua; parameter max_threads (0: no limit); text: metadata
  Reply  {'ok', thread record, 1 when created, how many threads the user has}; {'many'}: the user has max_threads; {'erasing'}: is_being_erased;
         {'taken'}: the id is an ended temporary thread's; {'damaged', key} ]]
-- @include ../includes/thread.lua
-- @include ../includes/clock.lua
-- @include ../includes/create.lua
local damage = damaged_thread()
if damage then return { 'damaged', damage } end
local record = read_hash(record_key)
if record and record.ended then return { 'taken' } end
if not record and is_being_erased() then return { 'erasing' } end
if not record and has_all_threads() then return { 'many' } end
local result = record or create_thread(take(), false, 'idle', '0')
return { 'ok', flat_of(result), record and 0 or 1, redis.call('ZCARD', threads_key) }
