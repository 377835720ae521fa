-- Functions that end runs of a thread. Needs thread.lua, clock.lua, events.lua.
-- @include ended-record.lua
-- @include ../outbox/announce-end.lua
-- @include ../steering/waiting-list.lua
-- @include ../traces/trace.lua

-- Updates the thread's position in the index by `updated_at`; a temporary thread is in no index.
local function list_thread(record)
  if record.temporary ~= '1' then redis.call('ZADD', threads_key, now_ms_text, thread_id) end
end

-- Sets `updated_at` to now.
local function touch(record, ...)
  redis.call('HSET', record_key, 'updated_at', now_iso, ...)
  list_thread(record)
end

-- The same for one step of a run, at most once in a second.
local function touch_step(record, ...)
  if record.updated_at:sub(1, 19) == now_iso:sub(1, 19) then redis.call('HSET', record_key, ...) else touch(record, ...) end
end

local function drop_checkpoint(id)
  redis.call('HDEL', checkpoints_key, id)
  redis.call('ZREM', order_key, id)
  if p.files then redis.call('HDEL', record_key .. ':files', 'c:' .. id) end
end

-- Removes a base that no run needs any more if pruning has passed it already.
-- @rare
local function release_base(record, id)
  if not id or id == '' or redis.call('HEXISTS', bases_key, id) == 0 then return end
  if redis.call('HINCRBY', bases_key, id, -1) > 0 then return end
  redis.call('HDEL', bases_key, id)
  if id <= record.pruned and id ~= record.head then drop_checkpoint(id) end
end

-- @rare
local function forget_run(record, run)
  release_bytes(run.stored)
  redis.call('DEL', run_key(run.run_id), kwargs_key(run.run_id), trace_key(run.run_id))
  redis.call('ZREM', runs_key, run.run_id)
  release_base(record, run.base_checkpoint_id)
  release_base(record, run.fork_checkpoint_id)
end

local function end_event(status) return '{"kind":"end","status":"' .. status .. '"}' end

-- Adds the terminal event and, for a run with a webhook, its event; the log remains for p.events_ttl_ms, the run's idempotency key for p.idempotency_ttl_ms.
-- `checkpoint` and `text`, which may be absent: those of the last step, for the trace. `has_event`: the terminal event is in the log already.
local function add_end(run, status, checkpoint, text, has_event)
  if not has_event then add_event(run, end_event(status)) end
  redis.call('PEXPIRE', events_key(run.run_id), p.events_ttl_ms)
  redis.call('SREM', in_flight_key, run.run_id)
  announce_end(run, status)
  end_trace(run, status, checkpoint, text)
  if run.idempotency then redis.call('PEXPIRE', run.idempotency, p.idempotency_ttl_ms) end
end

-- Ends a run that never had an owner; the caller removes it from the inbox. Returns its id and the number of `end`.
-- @rare
local function end_queued(record, run, action, by)
  add_trace(run, 'x', now_ms, action, by or '-')
  add_end(run, 'interrupted')
  if action == 'rollback' then
    forget_waiting(record, run.run_id)
    forget_run(record, run)
  else
    -- It wrote nothing that could be regenerated from the checkpoint that it named.
    release_base(record, run.fork_checkpoint_id)
    close_record(record, run, { 'status', 'interrupted', 'cancel', action, 'fork_checkpoint_id', '' })
  end
  return { run.run_id, run.seq }
end

-- A rollback may replace an interrupt, as it does more; no request revokes a rollback. `by`: who asks, for the trace.
local function set_cancel(run, action, by)
  if run.cancel == 'rollback' or run.cancel == action then return end
  run.cancel, run.updated_at = action, now_iso
  redis.call('HSET', run_key(run.run_id), 'cancel', action, 'updated_at', now_iso)
  add_trace(run, 'x', now_ms, action, by or '-')
end

-- An ended temporary thread stays readable as long as its run's log, for clients that wait for the run's values. Its files
-- and its sandbox are removed at once.
-- @rare
local function expire_thread()
  redis.call('HSET', record_key, 'ended', '1')
  redis.call('UNLINK', sandbox_key)
  if p.files then redis.call('UNLINK', record_key .. ':files') end
  if p.erasing then redis.call('HSET', p.erasing, pending_member, string.format('%.0f', now_us)) end
  for _, key in ipairs({ record_key, log_key, checkpoints_key, order_key, bases_key, runs_key, usage_key, feed_key,
    executions_key, owner_key, steering_key, record_key .. ':trace-texts', record_key .. ':trace-texts:ends' }) do
    redis.call('PEXPIRE', key, p.events_ttl_ms)
  end
  for _, run_id in ipairs(redis.call('ZRANGE', runs_key, 0, -1)) do
    release_bytes(redis.call('HGET', run_key(run_id), 'stored'))
    redis.call('HDEL', run_key(run_id), 'stored')
    redis.call('PEXPIRE', run_key(run_id), p.events_ttl_ms)
    redis.call('PEXPIRE', kwargs_key(run_id), p.events_ttl_ms)
    redis.call('PEXPIRE', trace_key(run_id), p.events_ttl_ms)
  end
end

-- Sets the thread's status after a run left: pending while another run waits, else the outcome of the run. `others`, which
-- may be absent: other changed fields of the thread's record. `is_last`: the inbox is known to be empty.
local function settle(record, settled, current, others, is_last)
  local more = current ~= '' or (not is_last and redis.call('LLEN', inbox_key) > 0)
  if not more then redis.call('ZREM', pending_key, pending_member) end
  touch(record, 'current', current, 'settled', settled, 'status', more and 'busy' or settled, unpack(others or {}))
  -- A task that waits for an answer stays: it continues when its parent gets one. So does a thread with runs that wait for their time.
  local waits = (settled == 'interrupted' and not p.erasing) or tonumber(record.delayed or 0) > 0
  if record.temporary == '1' and not more and not waits then expire_thread() end
  return more
end
