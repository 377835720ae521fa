#!lua
--[[ Withdraws a run that was offered before its admission: from now on, for ttl_ms, no runner begins it (begin-run.lua). An ordinary admission may follow.
  KEYS, ARGV  thread.lua; parameters run, ttl_ms
  Reply  {'withdrawn'}; {'admitted'}: a runner has begun it, and nothing is written ]]
-- @include ../includes/thread.lua
if redis.call('EXISTS', run_key(p.run)) == 1 then return { 'admitted' } end
redis.call('SET', withdrawn_key(p.run), '', 'PX', p.ttl_ms)
return { 'withdrawn' }
