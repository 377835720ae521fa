#!lua flags=allow-oom
--[[ Asks a run to stop at its next step: its owner finds the flag in the reply of a claim or a commit.
  KEYS, ARGV  thread.lua; parameters run, paused_by (for the trace: one word, absent: unknown)
  Reply  {'ok', run record without kwargs}
         {'no_run'}, {'ended', status}, {'stopping'}: it was asked to stop for good, {'paused'}: it was asked before,
         {'damaged', key}: nothing is written ]]
-- @include ../includes/thread.lua
-- @include ../includes/clock.lua
-- @include ../traces/trace.lua
local damage = damaged_thread() or damaged_run(p.run)
if damage then return { 'damaged', damage } end
local run = read_run(p.run)
if not read_thread() or not run or run.thread_id ~= thread_id then return { 'no_run' } end
if run.status ~= 'pending' and run.status ~= 'running' then return { 'ended', run.status } end
if run.cancel ~= '' then return { 'stopping' } end
if run.pause then return { 'paused' } end
run.pause, run.updated_at = '1', now_iso
redis.call('HSET', run_key(p.run), 'pause', '1', 'updated_at', now_iso)
add_trace(run, 'p', now_ms, p.paused_by or '-')
return { 'ok', flat_of(run) }
