-- The start of a run by a cron: the admission of the run and the move of the cron to its next due time are one script, so that
-- each due time starts one run. Needs clock.lua, types.lua; p.cron = { record, runs, due_set, member, version, due, next, missed, entry }:
--   record, runs  keys: hash of the cron, list of its runs (crons/crons.ts)
--   due_set       key: sorted set of all crons
--   version, due  what the caller has read; another version, or another due time, is another decision. due '': a start by
--                 hand, which leaves the schedule alone
--   next          the next due time in ms, '' for none
--   missed        how many due times were left out
--   max_runs      after so many runs of due times the cron has no further due time; absent: no such limit
--   entry         JSON of the run for the list
local MAX_CRON_RUNS = 200

local function damaged_cron()
  if is_damaged(p.cron.record, 'hash') then return p.cron.record end
  if is_damaged(p.cron.runs, 'list') then return p.cron.runs end
  if is_damaged(p.cron.due_set, 'zset') then return p.cron.due_set end
end

local function is_cron_stale()
  local found = redis.call('HMGET', p.cron.record, 'version', 'due')
  if found[1] ~= p.cron.version then return true end
  return p.cron.due ~= '' and found[2] ~= p.cron.due
end

local function list_cron_run()
  redis.call('LPUSH', p.cron.runs, p.cron.entry)
  redis.call('LTRIM', p.cron.runs, 0, MAX_CRON_RUNS - 1)
end

-- Counts the run of a due time; the one that reaches the limit is the last.
local function count_due_run()
  local count = redis.call('HINCRBY', p.cron.record, 'automatic', 1)
  if p.cron.max_runs and count >= p.cron.max_runs then p.cron.next = '' end
end

local function move_cron()
  redis.call('HSET', p.cron.record, 'due', p.cron.next, 'retries', '0')
  redis.call('HINCRBY', p.cron.record, 'missed', p.cron.missed)
  if p.cron.next == '' then
    redis.call('ZREM', p.cron.due_set, p.cron.member)
  else
    redis.call('ZADD', p.cron.due_set, p.cron.next, p.cron.member)
  end
end

local function start_cron_run(run_id)
  if p.cron.due ~= '' then
    count_due_run()
    move_cron()
  end
  redis.call('HSET', p.cron.record, 'last_run', run_id, 'last_thread', thread_id, 'last_at', now_iso)
  -- Why an agent has stopped the cron stays readable when somebody starts a run by hand.
  if not redis.call('HGET', p.cron.record, 'stopped_by') then redis.call('HSET', p.cron.record, 'last_error', '') end
  redis.call('HINCRBY', p.cron.record, 'started', 1)
  list_cron_run()
end
