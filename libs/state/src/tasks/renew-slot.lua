#!lua flags=allow-oom
--[[ Prolongs a slot and returns the state of the parent's run.
  KEYS[1] slots; KEYS[2] tokens
  ARGV    token, ms of the lease, member of the pending set; key of the record of the parent's run, which pools may only read
  Reply  {'ok', status of the parent's run or '', its cancel flag or ''}; {'fenced'}: nothing is written ]]
-- @include ../includes/clock.lua
local token, lease_ms, member = ARGV[1], tonumber(ARGV[2]), ARGV[3]
-- A lease that ran out, maybe as the clock of Redis jumped, is valid until another token acquires the slot.
local is_held = redis.call('ZSCORE', KEYS[1], member) and redis.call('HGET', KEYS[2], member) == token
if not is_held then return { 'fenced' } end
redis.call('ZADD', KEYS[1], now_ms + lease_ms, member)
local parent = redis.call('HMGET', ARGV[4], 'status', 'cancel')
return { 'ok', parent[1] or '', parent[2] or '' }
