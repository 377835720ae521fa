#!lua
--[[ Makes the files of an earlier point the head of a thread at rest; uploads stay.
  KEYS    the thread's files, hash (generations.lua)
  ARGV    checkpoint; keys of the thread's record, its queue and its lease
  Reply  {'ok', head}, {'none'}: the thread has no files; {'busy'}: nothing is written ]]
-- @include generations.lua
-- @include head-reply.lua
local checkpoint, record_key, inbox_key, lease_key = unpack(ARGV)
local current = redis.call('HGET', record_key, 'current')
if (current and current ~= '') or redis.call('LLEN', inbox_key) > 0 or redis.call('EXISTS', lease_key) == 1 then return { 'busy' } end
reset_files(KEYS[1], checkpoint)
local head = read_files_head(KEYS[1])
if not head then return { 'none' } end
return { 'ok', head_list(head) }
