#!lua
--[[ Admits a run to an idle thread, claims it and writes its first checkpoint, which contains its input: what admit.lua and claim-and-commit.lua
  do one after the other for a run that nothing stands against. Whatever else there is to decide is left to them.
  KEYS, ARGV  thread.lua and run-commit.lua, p.after (0) among its parameters; owner, lease_ms, those of processes.lua; run, user, assistant, agent,
              strategy, api_key and traceparent (absent for none), max_in_flight, max_state_bytes, max_stored (the last two 0: no limit), `opens`
              (commit.lua); for a run with a trace `asked` {process, request}; with texts of its first step `trace` (trace.lua)
              texts: those of run-commit.lua, that of the step and those it refers to, kwargs, metadata
  Reply       {'run', epoch, time, time in ms, ordinal, runs of the user in flight, bytes of the state before, change of the goal or false,
              {checkpoint id, its time, number of the first event, ''}}
              {'not_begun'}: another run is there, something waits, a limit is reached, or the run was withdrawn; {'damaged', key}: nothing is written ]]
-- @include ../includes/thread.lua
-- @include ../includes/run-commit.lua
-- @include ../includes/processes.lua
-- @include ../includes/ordinal.lua
-- @include ../traces/trace.lua
local kwargs, metadata = ARGV[#ARGV - 1], ARGV[#ARGV]
local bytes = #kwargs + #metadata

-- Whether the thread, as it is, may begin a run at once. Files of before it that are not stored yet have to be first.
local function is_idle(record)
  return record and not record.ended and record.temporary ~= '1' and record.current == '' and not record.steering
    and not is_stale(record, p.commit) and not (files and redis.call('HEXISTS', files.key, 'unpublished') == 1)
end

-- Whether the user may have one more run, beside those in flight.
local function has_room(in_flight, state_bytes)
  if in_flight >= p.max_in_flight then return false end
  if not state_bytes or (p.max_state_bytes > 0 and state_bytes > p.max_state_bytes) then return false end
  return p.max_stored == 0 or tonumber(redis.call('GET', stored_key) or 0) + bytes <= p.max_stored
end

-- The run's record after its claim, as those scripts write it.
local function begun_run(record, ordinal)
  return {
    run_id = p.run, thread_id = thread_id, user_id = p.user, assistant_id = p.assistant, agent = p.agent ~= p.assistant and p.agent or nil,
    status = 'running', metadata = metadata, stored = bytes, multitask_strategy = p.strategy, created_at = now_iso, updated_at = now_iso,
    fork_checkpoint_id = '', cancel = '', dropped = '', admitted_head = record.head, seq = 0, bytes = 0, border = 0, border_bytes = 0,
    ordinal = ordinal, api_key = p.api_key, traceparent = p.traceparent, traced = p.asked and '0', started = now_ms_text,
    base_checkpoint_id = record.head, base_entry = record.next_entry, base_value = record.next_value,
    first_row = text_of(last_row_before(p.commit) + 1), attempt = '1', tries = '0', input_committed = '1', open = p.opens or '',
  }
end

-- Writes what the trace has of admission and claim, and the first step.
local function trace_begin(run, checkpoint)
  if not p.asked then return end
  local began = {
    trace_part('a', now_ms_text, p.asked.process, p.api_key or '-', p.strategy, p.asked.request),
    trace_part('c', now_ms_text, process_of(p.owner)),
  }
  if not p.trace then return redis.call('RPUSH', trace_key(run.run_id), unpack(began)) end
  set_in(run, trace_step(run, checkpoint, take(), began))
  if p.trace.texts then store_trace_texts(p.trace.texts) end
end

local damage = damaged_thread() or damaged_run(p.run)
if damage then return { 'damaged', damage } end
local standing = { run_key(p.run), withdrawn_key(p.run), inbox_key, owner_key, record_key .. ':followed', p.erasing }
if redis.call('EXISTS', unpack(standing)) > 0 then return { 'not_begun' } end
local record = read_hash(record_key)
if not is_idle(record) then return { 'not_begun' } end
local in_flight, state_bytes = redis.call('SCARD', in_flight_key), sizes_in(record)
if not has_room(in_flight, state_bytes) then return { 'not_begun' } end

local epoch = string.format('%d', math.max((record.epoch or 0) + 1, now_us))
local base, ordinal = record.head, next_ordinal(record)
local run = begun_run(record, ordinal)
if files then files.note(files.key, p.run) end
local id, created_at, changed = commit_step(record, run)
trace_begin(run, id)
if base ~= '' then redis.call('HINCRBY', bases_key, base, '1') end
redis.call('SET', kwargs_key(p.run), kwargs)
redis.call('HSET', run_key(p.run), unpack(flat_of(run)))
redis.call('INCRBY', stored_key, bytes)
redis.call('ZADD', runs_key, string.format('%d', now_us), p.run)
redis.call('ZADD', pending_key, 'NX', now_ms_text, pending_member)
redis.call('SADD', in_flight_key, p.run)
redis.call('HSET', record_key, 'updated_at', now_iso, 'status', 'busy', 'admitted', ordinal, 'current', p.run, 'epoch', epoch, unpack(changed))
redis.call('ZADD', threads_key, now_ms_text, thread_id)
take_process_lease()
local owner = p.owner .. ':' .. epoch
redis.call('SET', owner_key, owner)
redis.call('SET', lease_key, owner, 'PX', text_of(p.lease_ms))
return { 'run', epoch, now_iso, now_ms_text, ordinal, in_flight + 1, state_bytes, record.goal_change or false, { id, created_at, p.after + 1, '' } }
