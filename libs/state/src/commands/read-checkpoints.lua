#!lua flags=no-writes
--[[ Reads checkpoints with everything they show.
  KEYS, ARGV  thread.lua; parameters ids (checkpoint ids; absent: the head), ended (true: also of an ended temporary thread)
  Reply  {'ok', {head id, counters, checkpoint texts (false: unknown), entries}} as load.lua gives a head
         {'no_thread'} ]]
-- @include thread.lua
-- @include load.lua
local record = p.ended and read_hash(record_key) or read_thread()
if not record then return { 'no_thread' } end
if not p.ids then return { 'ok', load_head(record) } end
local found, known = {}, {}
for index, id in ipairs(p.ids) do
  found[index] = redis.call('HGET', checkpoints_key, id)
  if found[index] then known[#known + 1] = found[index] end
end
return { 'ok', { record.head, log_counters(record), found, entries_of(known) } }
