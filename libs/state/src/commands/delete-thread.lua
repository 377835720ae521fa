#!lua flags=allow-oom
--[[ Removes a thread with its log, checkpoints, runs, event logs, sandbox binding, execution journal and what is known
  of its uploads' conversion, and takes it out of what memory extraction has to look at.
  KEYS, ARGV  thread.lua; KEYS[16] prefix of the thread's execution entries; KEYS[17] conversions;
              KEYS[18..21] jobs, due, user's due and running (memory-job.lua);
              parameter ended (true: also a temporary thread that has ended)
  Reply  {'ok'}; {'busy'}, {'no_thread'}, {'damaged', key}: nothing is written ]]
-- @include idle.lua
local refusal = refused_idle()
if refusal then return refusal end
for index, kind in ipairs({ 'hash', 'zset', 'zset', 'zset' }) do
  if is_damaged(KEYS[17 + index], kind) then return { 'damaged', KEYS[17 + index] } end
end
for _, field in ipairs(redis.call('HKEYS', KEYS[18])) do
  local agent = field:match('^said:(.*)$')
  for at = 19, agent and 21 or 0 do redis.call('ZREM', KEYS[at], pending_member .. '/' .. agent) end
end
for _, run_id in ipairs(redis.call('ZRANGE', runs_key, 0, -1)) do
  redis.call('UNLINK', run_key(run_id), events_key(run_id))
  redis.call('SREM', in_flight_key, run_id)
end
for _, execution in ipairs(redis.call('SMEMBERS', KEYS[13])) do redis.call('UNLINK', KEYS[16] .. execution) end
redis.call('ZREM', pending_key, pending_member)
redis.call('ZREM', threads_key, thread_id)
redis.call('UNLINK', record_key, log_key, checkpoints_key, order_key, bases_key, runs_key, inbox_key, KEYS[12], KEYS[13],
  usage_key, feed_key, KEYS[17], KEYS[18])
return { 'ok' }
