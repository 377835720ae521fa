#!lua flags=allow-oom
--[[ Releases a thread with its run still current; the attempt is not counted against the run.
  KEYS, ARGV  thread.lua; parameters owner, epoch, run (fence.lua)
  Reply  {'ok'}; {'fenced', reason}: nothing is written ]]
-- @include ../includes/fence.lua
local refusal = fenced_briefly()
if refusal then return refusal end
local tries = tonumber(redis.call('HGET', run_key(p.run), 'tries'))
redis.call('HSET', run_key(p.run), 'tries', math.max(tries - 1, 0))
release_lease()
return { 'ok' }
