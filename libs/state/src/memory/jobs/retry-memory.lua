#!lua flags=allow-oom
--[[ Releases a job, to be ready again after a delay.
  KEYS, ARGV  memory-job.lua; parameters delay_ms, failed: 'counts', 'away' (time counts, attempts do not) or 'no'
  Reply  {'ok'}; {'fenced'}, {'damaged', key}: nothing is written ]]
-- @include memory-job.lua
local refusal = refused_job()
if refusal then return refusal end
release()
if p.failed == 'counts' then redis.call('HINCRBY', jobs_key, field('attempts'), 1) end
if p.failed ~= 'no' then redis.call('HSETNX', jobs_key, field('failing_since'), now_ms) end
redis.call('HSET', jobs_key, field('not_before'), now_ms + p.delay_ms)
ready_at(now_ms + p.delay_ms)
return { 'ok' }
