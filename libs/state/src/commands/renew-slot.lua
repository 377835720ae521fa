#!lua flags=allow-oom
--[[ Prolongs a slot and tells how the parent's run stands.
  KEYS[1] slots; KEYS[2] tokens; KEYS[3] record of the parent's run
  ARGV    token, ms of the lease, member of the pending set
  Reply  {'ok', status of the parent's run or '', its cancel flag or ''}; {'fenced'}: nothing is written ]]
-- @include clock.lua
local token, lease_ms, member = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local score = redis.call('ZSCORE', KEYS[1], member)
if not score or tonumber(score) <= now_ms or redis.call('HGET', KEYS[2], member) ~= token then return { 'fenced' } end
redis.call('ZADD', KEYS[1], now_ms + lease_ms, member)
local parent = redis.call('HMGET', KEYS[3], 'status', 'cancel')
return { 'ok', parent[1] or '', parent[2] or '' }
