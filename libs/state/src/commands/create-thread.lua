#!lua
--[[ Makes a thread, or answers with the one that is there.
  KEYS, ARGV  thread.lua; no parameters; text: metadata
  Reply  {'ok', thread record, 1 when made}; {'taken'}: the id is an ended temporary thread's; {'damaged', key} ]]
-- @include thread.lua
-- @include clock.lua
-- @include create.lua
local damage = damaged_thread()
if damage then return { 'damaged', damage } end
local record = read_hash(record_key)
if record and record.ended then return { 'taken' } end
if not record then create_thread(take(), false) end
return { 'ok', redis.call('HGETALL', record_key), record and 0 or 1 }
