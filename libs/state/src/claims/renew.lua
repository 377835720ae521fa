#!lua flags=allow-oom
--[[ Prolongs the lease of the run that owns its thread, also when it lapsed and no other owner claimed the thread since.
  KEYS, ARGV  thread.lua; parameters owner, epoch, run (fence.lua), lease_ms
  Reply  {'ok', cancel flag or ''}; {'fenced', reason}: nothing is written ]]
-- @include ../includes/fence.lua
local refusal = fenced_briefly()
if refusal then return refusal end
redis.call('SET', lease_key, mine, 'PX', p.lease_ms)
return { 'ok', redis.call('HGET', run_key(p.run), 'cancel') }
