#!lua flags=allow-oom
--[[ Sets the durable cancel flag of a run; a queued run ends at once; a finished one does not change.
  KEYS, ARGV  thread.lua; parameters run, action, status ('pending', 'running', absent: any; a run with another one does not
              change), cancelled_by (for the trace: one word, absent: unknown), events_ttl_ms, trace_ttl_ms (trace.lua), idempotency_ttl_ms, max_log_bytes, delayed (delayed.lua), outbox (announce-end.lua);
              only_delayed (true: only a run that waits for its time)
  Reply  {'ok', run record without kwargs, 1 when it is current, {{run id, number of its last event}} when this ended it}
         {'no_run'}, {'in_flight'}: for only_delayed; {'damaged', key}: nothing is written ]]
-- @include ../includes/thread.lua
-- @include ../includes/clock.lua
-- @include ../includes/events.lua
-- @include ../includes/ending.lua
-- @include ../delayed/delayed.lua
local damage = damaged_thread() or damaged_run(p.run) or damaged_delayed()
if damage then return { 'damaged', damage } end
local record, run = read_hash(record_key), read_run(p.run)
if not record or not run or run.thread_id ~= thread_id then return { 'no_run' } end
if p.status and run.status ~= p.status then return { 'ok', flat_of(run), 0, {} } end

if p.only_delayed and not redis.call('ZSCORE', p.delayed.all, delayed_member(p.run)) then return { 'in_flight' } end
if record.current == p.run then
  set_cancel(run, p.action, p.cancelled_by)
  return { 'ok', flat_of(run), 1, {} }
end
if run.status ~= 'pending' then return { 'ok', flat_of(run), 0, {} } end
damage = damaged_outbox({ run })
if damage then return { 'damaged', damage } end

local ended = end_queued(record, run, p.action, p.cancelled_by)
if not stop_delay(record, p.run) then redis.call('LREM', inbox_key, 0, p.run) end
settle(record, record.settled, record.current)
run.status, run.cancel, run.updated_at = 'interrupted', p.action, now_iso
return { 'ok', flat_of(run), 0, { ended } }
