#!lua
--[[ Appends events to the log of the run that owns its thread.
  KEYS, ARGV  thread.lua; parameters owner, epoch, run (fence.lua), lease_ms, events (how many), max_log_bytes, after (fence.lua),
              open: id of the message being streamed as JSON, '' for none, absent: unchanged
              dropped: ids of discarded messages, JSON texts joined by ',', or ''
              texts: the events
  Reply  {'ok', number of the first event}; {'fenced', reason}: nothing is written
         {'too_large'}: twice the cap without a position to trim to; nothing is written ]]
-- Every key is read before the first write, or is the stream that is written first: no other check of types is needed.
-- @include ../includes/fence.lua
-- @include ../includes/clock.lua
-- @include ../includes/events.lua
local refusal = fenced()
if refusal then return refusal end
local fields = redis.call('HMGET', run_key(p.run), 'seq', 'bytes', 'border', 'border_bytes', 'open', 'dropped')
local run = { run_id = p.run, seq = fields[1], bytes = fields[2], border = fields[3], border_bytes = fields[4],
  open = fields[5], dropped = fields[6] }
local earlier = written_before(run, p.events)
if earlier == 'other' then return { 'fenced', 'another sequence' } end
if earlier then return { 'ok', p.after + 1 } end
if tonumber(run.bytes) > 2 * p.max_log_bytes then return { 'too_large' } end

local first = run.seq + 1
for _ = 1, p.events do add_event(run, take()) end
if p.dropped ~= '' then
  run.dropped = run.dropped == '' and p.dropped or run.dropped .. ',' .. p.dropped
end
retake_lease()
save_log(run, 'open', p.open or run.open, 'dropped', run.dropped, 'updated_at', now_iso)
return { 'ok', first }
