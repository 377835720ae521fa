#!lua
--[[ Puts a run whose time has come into the inbox of its thread. The strategies interrupt and rollback take effect now; a run
  with another strategy waits for the runs before it.
  KEYS, ARGV  thread.lua; parameters run, delayed (delayed.lua), outbox (announce-end.lua), events_ttl_ms, trace_ttl_ms (trace.lua), idempotency_ttl_ms, max_log_bytes
  Reply  {'ok', ids of runs asked to stop, {{id of a queued run that ended, number of its last event}, …}, 1 when a run of the
          thread is under way}
         {'none'}: the run does not wait; {'early'}: its time has not come; {'damaged', key} ]]
-- @include ../includes/thread.lua
-- @include ../includes/clock.lua
-- @include ../includes/events.lua
-- @include ../includes/ending.lua
-- @include delayed.lua
-- @include ../includes/ordinal.lua
-- @include ../runs/clear-thread.lua
local damage = damaged_thread() or damaged_run(p.run) or damaged_delayed()
if damage then return { 'damaged', damage } end
local due_ms = redis.call('ZSCORE', p.delayed.all, delayed_member(p.run))
if not due_ms then return { 'none' } end
if tonumber(due_ms) > now_ms then return { 'early' } end
local record, run = read_thread(), read_run(p.run)
if not record or not run or run.status ~= 'pending' then
  redis.call('ZREM', p.delayed.all, delayed_member(p.run))
  redis.call('ZREM', p.delayed.user, p.run)
  return { 'none' }
end
local queued = {}
local current = record.current ~= '' and read_run(record.current) or nil
for _, run_id in ipairs(redis.call('LRANGE', inbox_key, 0, -1)) do
  damage = damaged_run(run_id)
  if damage then return { 'damaged', damage } end
  queued[#queued + 1] = read_run(run_id)
end
damage = damaged_outbox(queued)
if damage then return { 'damaged', damage } end
stop_delay(record, p.run)
local cancelled, ended = {}, {}
local strategy = run.multitask_strategy
if strategy == 'interrupt' or strategy == 'rollback' then cancelled, ended = clear_thread(record, current, queued, strategy) end
local ordinal = next_ordinal(record)
redis.call('HSET', run_key(p.run), 'admitted_head', record.head, 'updated_at', now_iso, 'ordinal', ordinal)
-- From now on it is one of the newest runs of its thread, for those who follow the thread.
redis.call('ZADD', runs_key, string.format('%.0f', now_us), p.run)
redis.call('RPUSH', inbox_key, p.run)
redis.call('ZADD', pending_key, 'NX', now_ms, pending_member)
touch(record, 'status', 'busy', 'admitted', ordinal)
return { 'ok', cancelled, ended, current and 1 or 0 }
