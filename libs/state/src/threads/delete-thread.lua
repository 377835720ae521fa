#!lua flags=allow-oom
--[[ Removes a thread with its log, checkpoints, runs, event logs, sandbox binding, execution journal, upload records,
  messages that wait for a run and pending memory extractions, and enters it in p.erasing:
  its files still exist, and no thread of this id is created until they were moved aside.
  KEYS, ARGV  thread.lua; then the prefix of the thread's execution entries; conversions; jobs, due, user's due
              and running (memory-job.lua); feedback;
              parameters delayed (delayed.lua), outbox (announce-end.lua), ended (true: also a temporary thread that has ended), idempotency (prefix of the
              user's idempotency keys: those of its runs are removed too; absent: a repeated request is still recognized), interrupted (interrupts.lua),
              filed (the user's threads with files)
  Reply  {'ok'}; {'busy'}, {'no_thread'}, {'damaged', key}: nothing is written ]]
-- @include ../includes/idle.lua
-- @include ../includes/clock.lua
-- @include ../delayed/delayed.lua
-- @include ../outbox/announce-end.lua
-- @include ../steering/waiting-list.lua
-- @include ../interrupts/interrupts.lua
-- @include ../traces/trace.lua
local refusal, record = refused_idle()
if refusal then return refusal end
for index, kind in ipairs({ 'hash', 'zset', 'zset', 'zset' }) do
  if is_damaged(more_key(2 + index), kind) then return { 'damaged', more_key(2 + index) } end
end
local damage = damaged_delayed()
if damage then return { 'damaged', damage } end
local executions_prefix, conversions_key, jobs_key = more_key(1), more_key(2), more_key(3)
for _, field in ipairs(redis.call('HKEYS', jobs_key)) do
  local agent = field:match('^said:(.*)$')
  for at = 4, agent and 6 or 0 do redis.call('ZREM', more_key(at), pending_member .. '/' .. agent) end
end
for _, run_id in ipairs(redis.call('ZRANGE', runs_key, 0, -1)) do
  if p.idempotency then
    -- Runs that an earlier version ended have the whole key.
    local names = redis.call('HMGET', run_key(run_id), 'idempotency_digest', 'idempotency')
    local idempotency_key = names[1] and p.idempotency .. names[1] or names[2]
    if idempotency_key then redis.call('UNLINK', idempotency_key) end
  end
  if stop_delay(record, run_id) then announce_end(read_run(run_id), 'interrupted') end
  release_bytes(redis.call('HGET', run_key(run_id), 'stored'))
  redis.call('UNLINK', run_key(run_id), kwargs_key(run_id), events_key(run_id), trace_key(run_id))
  redis.call('SREM', in_flight_key, run_id)
end
for _, execution in ipairs(redis.call('SMEMBERS', executions_key)) do redis.call('UNLINK', executions_prefix .. execution) end
redis.call('ZREM', pending_key, pending_member)
redis.call('ZREM', threads_key, thread_id)
list_interrupts({}, pending_member, nil, record_key)
if p.erasing then redis.call('HSET', p.erasing, pending_member, string.format('%.0f', now_us)) end
redis.call('UNLINK', record_key, log_key, checkpoints_key, order_key, bases_key, runs_key, inbox_key, sandbox_key, executions_key,
  usage_key, feed_key, owner_key, conversions_key, jobs_key, more_key(7), steering_key, record_key .. ':files',
  record_key .. ':trace-texts', record_key .. ':trace-texts:ends')
if p.filed then redis.call('ZREM', p.filed, thread_id) end
return { 'ok' }
