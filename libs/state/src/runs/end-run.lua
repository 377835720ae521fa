-- What few ends of a run need. Needs thread.lua, clock.lua, run-commit.lua.
-- @include ../steering/waiting-list.lua
-- @include ../goals/goal-change.lua
-- @include ../letters/letters.lua
-- Everything above the base belongs to this run: no other writer exists while it is current.
-- @rare
local function roll_back(record, run)
  local base = run.base_checkpoint_id
  local newer = redis.call('ZRANGEBYLEX', order_key, base == '' and '-' or '(' .. base, '+')
  for _, id in ipairs(newer) do drop_checkpoint(id) end
  for entry = run.base_entry, record.next_entry - 1 do
    redis.call('HDEL', log_key, string.format('%.0f', entry))
  end
  for value = run.base_value, record.next_value - 1 do
    redis.call('HDEL', log_key, string.format('c%.0f', value))
  end
  local channels = {}
  if base ~= '' then channels = checkpoint_of(base, redis.call('HGET', checkpoints_key, base)).channels end
  show_values(record, channels)
  if files then files.take_back(files.key, run.run_id, base) end
  record.head = base
  drop_rows(run)
  forget_waiting(record, run.run_id)
  return_goal_change(record, run)
  forget_run(record, run)
end

-- Sets the deadline of the execution journal, which has none while the run may be taken over. All entries of the thread
-- are of runs that ended, as it has one at a time; expired ones are removed from the set.
-- @rare
local function expire_journal()
  local names = redis.call('SMEMBERS', executions_key)
  if #names == 0 then return end
  for _, name in ipairs(names) do
    local entry = p.executions .. name
    if redis.call('PEXPIRE', entry, p.journal_ttl_ms, 'LT') == 0 and redis.call('EXISTS', entry) == 0 then
      redis.call('SREM', executions_key, name)
    end
  end
  redis.call('PEXPIRE', executions_key, p.journal_ttl_ms)
end

-- `letters`: p.dead_letters of finish.lua.
-- @rare
local function add_dead_letter(letters)
  redis.call('RPUSH', letters.key, letters.letter)
  redis.call('LTRIM', letters.key, -letters.max, -1)
  add_letter(letters.listed, letters.listed.id, letters.listed.text)
  redis.call('PEXPIRE', kwargs_key(p.run), letters.kwargs_ttl_ms, 'GT')
end

-- Whether the head names further nodes, for an end without a commit.
-- @rare
local function head_has_next(record)
  return #checkpoint_of(record.head, redis.call('HGET', checkpoints_key, record.head)).next > 0
end
