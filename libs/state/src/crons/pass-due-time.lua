#!lua
--[[ Leaves a due time without a run, or puts off its start.
  KEYS[1..3]  record, runs (list), due crons of all users
  ARGV[1]     JSON object `cron` of cron-due.lua, with error (the reason) and retry_ms: when it is tried again; absent: it
              is not, and the cron moves to its next due time; disable: the cron has no further ones
  Reply  {'ok'}, {'stale'}, {'damaged', key}: nothing is written ]]
-- @include ../includes/clock.lua
-- @include ../includes/types.lua
local p = { cron = cjson.decode(ARGV[1]) }
local thread_id = ''
-- @include cron-due.lua
local damage = damaged_cron()
if damage then return { 'damaged', damage } end
if is_cron_stale() then return { 'stale' } end
redis.call('HSET', p.cron.record, 'last_error', p.cron.error)
if p.cron.retry_ms then
  redis.call('HINCRBY', p.cron.record, 'retries', 1)
  redis.call('ZADD', p.cron.due_set, now_ms + p.cron.retry_ms, p.cron.member)
  return { 'ok' }
end
redis.call('HSET', p.cron.record, 'last_at', now_iso)
move_cron()
list_cron_run()
return { 'ok' }
