-- Runs that wait for their time. Such a run is pending and in flight, but not in the inbox of its thread, which may run others
-- meanwhile. Needs thread.lua, clock.lua; p.delayed = { all, user }:
--   all   key: sorted set of all users, <member of the pending set>/<run> → ms when it is due
--   user  key: sorted set, run → ms when it is due
-- `delayed` of the thread's record counts its runs.
local function delayed_member(run_id) return pending_member .. '/' .. run_id end

-- @rare
local function damaged_delayed()
  for _, key in ipairs({ p.delayed.all, p.delayed.user }) do
    if is_damaged(key, 'zset') then return key end
  end
end

-- @rare
local function delay_run(record, run_id, due_ms)
  redis.call('ZADD', p.delayed.all, due_ms, delayed_member(run_id))
  redis.call('ZADD', p.delayed.user, due_ms, run_id)
  record.delayed = redis.call('HINCRBY', record_key, 'delayed', 1)
end

-- Whether the run was waiting for its time; it no longer is.
-- @rare
local function stop_delay(record, run_id)
  if redis.call('ZREM', p.delayed.all, delayed_member(run_id)) == 0 then return false end
  redis.call('ZREM', p.delayed.user, run_id)
  record.delayed = redis.call('HINCRBY', record_key, 'delayed', -1)
  return true
end
