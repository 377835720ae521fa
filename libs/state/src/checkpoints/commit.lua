#!lua
--[[ Writes a state as the head of its thread for the run that owns it, and appends to the run's log, in one step.
  KEYS, ARGV  thread.lua; parameters owner, epoch, run (fence.lua), lease_ms, after and those of run-commit.lua
  Reply  {'ok', checkpoint id, its time, number of the first event, log fields, cancel flag or ''}
         {'fenced', reason}, {'damaged', key}: nothing is written ]]
-- @include ../includes/fence.lua
-- @include ../includes/run-commit.lua
local refusal, record, run = refused()
if refusal then return refusal end
local earlier = written_before(run, count_events(p.events) + 1)
if earlier == 'other' then return { 'fenced', 'another sequence' } end
if earlier then
  local written = cjson.decode(redis.call('HGET', checkpoints_key, record.head))
  return { 'ok', record.head, written.created_at, p.after + 1, redis.call('HLEN', log_key), run.cancel }
end
if is_stale(record, p.commit) then return { 'fenced', 'another head' } end

retake_lease()
local first = run.seq + 1
local id = commit_step(record, run)
list_thread(record)
return { 'ok', id, now_iso, first, redis.call('HLEN', log_key), run.cancel }
