-- What claim.lua and claim-and-commit.lua do. `files` and `first_commit`, nil for none, come from them: `note` of generations.lua, and the
-- functions of claim-and-commit.lua.
-- @include ../includes/thread.lua
-- @include ../includes/clock.lua
-- @include ../includes/processes.lua
-- @include ../includes/load.lua
-- @include ../includes/feed.lua
-- @include ../includes/events.lua
-- @include ../steering/waiting-list.lua
-- @include ../traces/trace.lua
local turns = p.turns
local damage = damaged_thread()
local may_start, enter
if turns then
  -- @include ../turns/turn-queue.lua
  local user = user_of(pending_member)
  damage = damage or (not p.checked and damaged_turns(user))
  function may_start() return redis.call('ZSCORE', running_key(user), thread_id) or count_running(user) < turns.max_running end
  function enter() enter_running(user, thread_id) end
end
if damage then return { 'damaged', damage } end
local record, run = read_hash(record_key), nil
-- A thread whose record names no run has no owner: both are written and removed together.
local last_owner = not (record and record.current == '') and redis.call('GET', owner_key)
-- No lease exists without an owner: both are written and removed together.
local left_ms = last_owner and redis.call('PTTL', lease_key) or -2
local is_repeated = last_owner and last_owner:match('^[^:]*') == p.owner
if left_ms > 0 and not is_repeated and not has_died(redis.call('GET', lease_key)) then
  -- More than a whole lease is left when the clock went back: a dead owner would block the thread for that much longer.
  if left_ms > p.lease_ms then redis.call('PEXPIRE', lease_key, p.lease_ms) end
  return { 'busy' }
end
if left_ms <= 0 and not is_repeated and may_return(last_owner, p.lease_ms) then return { 'busy' } end

local passed = 0
for _, run_id in ipairs(record and runs_in_flight(record) or {}) do
  damage = damaged_run(run_id)
  if damage then return { 'damaged', damage } end
  run = read_run(run_id)
  if run_id ~= record.current then passed = passed + 1 end
  if run then break end
end
if turns and run and run.run_id ~= record.current and not may_start() then return { 'capped' } end
if passed > 0 then redis.call('LTRIM', inbox_key, text_of(passed), '-1') end
if not run then
  redis.call('ZREM', pending_key, pending_member)
  if record and record.status == 'busy' then
    redis.call('HSET', record_key, 'current', '', 'status', record.settled)
  end
  return { 'idle' }
end

local storing
-- `committed`: the result of the first commit, nil for none. The caller then has the head and the kwargs.
local function reply(epoch, committed)
  return { 'run', epoch, committed and first_commit.shown(run) or flat_of(run), not committed and load_head(record), run.tries,
    now_ms - run.started, not committed and redis.call('GET', kwargs_key(run.run_id)), waiting_texts(record) or false,
    record.goal_change or false, storing or false, committed }
end
if is_repeated and run.run_id == record.current then
  redis.call('SET', lease_key, last_owner, 'PX', p.lease_ms)
  return reply(record.epoch, first_commit and first_commit.found(record, run))
end

if turns then enter() end
-- Two claims of a thread can be within a millisecond, even when Redis was emptied between them.
local epoch = string.format('%d', math.max((record.epoch or 0) + 1, now_us))
local fields, is_first = {}, not run.started
if is_first then
  run.base_checkpoint_id = record.head
  fields = { 'started', now_ms_text, 'base_checkpoint_id', record.head, 'base_entry', record.next_entry,
    'base_value', record.next_value, 'first_row', text_of(last_row_before(first_commit and p.commit) + 1) }
  local replaces = run.fork_checkpoint_id ~= '' and replaced_from(run)
  if replaces then append_to(fields, 'replaces', replaces) end
  if record.head ~= '' then redis.call('HINCRBY', bases_key, record.head, '1') end
  if files then storing = files.note(record_key .. ':files', run.run_id) end
end
run.tries = text_of((tonumber(run.tries) or 0) + 1)
local attempt = text_of((tonumber(run.attempt) or 0) + 1)
append_to(fields, 'status', 'running', 'updated_at', now_iso, 'attempt', attempt, 'tries', run.tries)
if run.open ~= '' then
  append_to(fields, 'dropped', run.dropped == '' and run.open or run.dropped .. ',' .. run.open, 'open', '')
end
-- The owner before may have published events that it did not store.
if tonumber(run.seq) > 0 then
  skip_numbers(run, run.seq + MAX_AHEAD)
  append_to(fields, 'seq', run.seq, 'bytes', run.bytes)
end
set_in(run, fields)
local began = run.traced and unwritten_parts(run) or {}
if #began > 0 then append_to(fields, 'asked', '') end
append_to(began, trace_part('c', now_ms_text, process_of(p.owner)))
local committed
local owned = { 'current', run.run_id, 'epoch', epoch, 'status', 'busy' }
if is_first and first_commit and first_commit.may_follow(record, run, storing) then
  committed = first_commit.write(record, run, { of_run = fields, of_thread = owned, trace = began })
else
  if run.traced and is_first then
    redis.call('RPUSH', trace_key(run.run_id), unpack(began))
  elseif run.traced then
    local reason = not last_owner and 'released' or has_died(last_owner) and 'process_died' or 'lease_lapsed'
    add_trace(run, 'c', now_ms, process_of(p.owner), run.attempt, last_owner and process_of(last_owner) or '-', reason)
  end
  redis.call('HSET', run_key(run.run_id), unpack(fields))
  redis.call('HSET', record_key, unpack(owned))
end
take_process_lease()
local owner = p.owner .. ':' .. epoch
redis.call('SET', owner_key, owner)
redis.call('SET', lease_key, owner, 'PX', text_of(p.lease_ms))
return reply(epoch, committed)
