#!lua
--[[ Appends events to the log of the run that owns its thread.
  KEYS, ARGV  thread.lua; parameters owner, epoch, run (fence.lua), events (how many), max_log_bytes,
              open: id of the message being streamed as JSON, '' for none, absent: as it was
              dropped: ids given up, JSON texts joined by ',', or ''
              texts: the events
  Reply  {'ok', number of the first event}; {'fenced', reason}: nothing is written
         {'too_large'}: twice the cap without a border to trim to; nothing is written ]]
-- Every key is read before the first write, or is the stream that is written first: no other check of types is needed.
-- @include fence.lua
-- @include clock.lua
-- @include events.lua
local refusal = fenced()
if refusal then return refusal end
local run = read_hash(run_key(p.run))
if tonumber(run.bytes) > 2 * p.max_log_bytes then return { 'too_large' } end

local first = run.seq + 1
for _ = 1, p.events do add_event(run, take()) end
save_log(run)
if p.dropped ~= '' then
  run.dropped = run.dropped == '' and p.dropped or run.dropped .. ',' .. p.dropped
end
redis.call('HSET', run_key(p.run), 'open', p.open or run.open, 'dropped', run.dropped, 'updated_at', now_iso)
return { 'ok', first }
