#!lua flags=no-writes
--[[ Reads checkpoints with all entries that they refer to.
  KEYS, ARGV  thread.lua; parameters ids (checkpoint ids; absent: the head), known (load.lua), ended (true: also of an
              ended temporary thread), max_bytes (size of the states, as JSON, after which the rest of the ids is left out; absent: none)
  Reply  {'ok', {head id, counters, checkpoint texts (false: unknown), entries}} as load.lua gives a head
         {'no_thread'} ]]
-- @include ../includes/thread.lua
-- @include ../includes/load.lua
-- @include ../includes/state-bytes.lua
local record = p.ended and read_hash(record_key) or read_thread()
if not record then return { 'no_thread' } end
if not p.ids then return { 'ok', load_head(record) } end
local found, known, bytes = {}, {}, 0
for index, id in ipairs(p.ids) do
  local text = redis.call('HGET', checkpoints_key, id)
  if text and p.max_bytes then
    bytes = bytes + state_bytes(id, text)
    if bytes > p.max_bytes and next(known) then break end
  end
  found[index] = text
  if text then known[id] = text end
end
return { 'ok', { record.head, log_counters(record), found, entries_of(known) } }
