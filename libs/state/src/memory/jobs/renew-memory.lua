#!lua flags=allow-oom
--[[ Prolongs the lease of a job.
  KEYS, ARGV  memory-job.lua; parameter lease_ms
  Reply  {'ok'}; {'fenced'}, {'damaged', key}: nothing is written ]]
-- @include memory-job.lua
local refusal = refused_job()
if refusal then return refusal end
local lease_end = now_ms + p.lease_ms
redis.call('HSET', jobs_key, field('until'), lease_end)
redis.call('ZADD', running_key, lease_end, p.member)
ready_at(lease_end)
return { 'ok' }
