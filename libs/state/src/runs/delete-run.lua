#!lua flags=allow-oom
--[[ Removes a run that has ended, with its event log; its checkpoints remain.
  KEYS, ARGV  thread.lua; parameter run
  Reply  {'ok'}; {'in_flight'}, {'no_run'}, {'damaged', key}: nothing is written ]]
-- @include ../includes/thread.lua
-- @include ../includes/clock.lua
-- @include ../includes/events.lua
-- @include ../includes/ending.lua
local damage = damaged_thread() or damaged_run(p.run)
if damage then return { 'damaged', damage } end
local record, run = read_thread(), read_run(p.run)
if not record or not run or run.thread_id ~= thread_id then return { 'no_run' } end
if run.status == 'pending' or run.status == 'running' then return { 'in_flight' } end
forget_run(record, run)
redis.call('UNLINK', events_key(p.run))
return { 'ok' }
