#!lua flags=allow-oom
--[[ Releases a thread with its run still current; the attempt is not counted against the run.
  KEYS, ARGV  thread.lua; parameters owner, epoch, run (fence.lua), reason (for the trace: one word)
  Reply  {'ok'}; {'fenced', reason}: nothing is written ]]
-- @include ../includes/fence.lua
-- @include ../includes/clock.lua
-- @include ../traces/trace.lua
local refusal = fenced_briefly()
if refusal then return refusal end
local fields = redis.call('HMGET', run_key(p.run), 'tries', 'traced')
redis.call('HSET', run_key(p.run), 'tries', math.max(tonumber(fields[1]) - 1, 0))
add_trace({ run_id = p.run, traced = fields[2] }, 'h', now_ms, process_of(p.owner), p.reason or '-')
release_lease()
return { 'ok' }
