#!lua flags=allow-oom
--[[ Ends the run that owns its thread: a last step, the terminal event, statuses, release of the lease. A run whose
  cancel flag says rollback is rolled back whatever status its owner gives: the next run was promised the state before.
  KEYS, ARGV  thread.lua; parameters owner, epoch, run (fence.lua), status, stop_reason, error (JSON or ''),
              rollback, more_events (how many events each further entry holds), shown (the newest number that readers
              may know), incomplete (whether events up to that number are missing here), those of run-commit.lua when
              `commit` is there, and with it has_next (whether its checkpoint names further nodes),
              `trace` (commit.lua; its text follows the other entries), events_ttl_ms, trace_ttl_ms (trace.lua), idempotency_ttl_ms, max_log_bytes, journal_ttl_ms, executions (prefix of the thread's
              execution entries), interrupted (interrupts.lua), question (whether the thread ends with a question), and where memory is to be extracted `remember`: {due, user_due,
              jobs, member, agent}, the keys of memory-job.lua; where a dead letter belongs to it
              `dead_letters`: {key, letter, max, listed: {id, text, records, times, max} (letters.lua), kwargs_ttl_ms}; `queue`: the keys that exist while a thread waits for a slot; with a limit of running threads `turns` (turn-queue.lua); `replaced`: {kwargs} to put into a record that cannot be read
              texts: those of run-commit.lua, then the other entries
  Reply  {'ok', 1 when rolled back, number of the first event, checkpoint id or '', time, 1 when more is to run: of the
          thread, or of a user who has a slot again; bytes of the event log, what the ledger says of the budgets,
          1 when no thread waits for a slot}
         {'steered', how many messages wait to join the run}: these, or a change of the goal, wait for the run, which therefore
          continues; nothing is written
         {'repeated', 1 when more is to run}: this owner ended the run before, as each epoch has one owner
         {'fenced', reason}, {'damaged', key}: nothing is written ]]
-- @include ../includes/fence.lua
-- @include ../includes/run-commit.lua
-- @include ../includes/usage.lua
-- @include end-run.lua
-- @include ../interrupts/interrupts.lua
local turns, user, leave_turns = p.turns, nil, nil
local turns_damage
if turns then
  -- @include ../turns/turn-queue.lua
  user, leave_turns = user_of(pending_member), leave_running
  turns_damage = not p.checked and damaged_turns(user)
end
local refusal, record, run = refused()
if refusal then
  if redis.call('HGET', run_key(p.run), 'ended_by') ~= p.epoch then return refusal end
  return { 'repeated', redis.call('ZSCORE', pending_key, pending_member) and 1 or 0 }
end
if turns_damage then return { 'damaged', turns_damage } end
local outbox_damage = has_webhook(run) and damaged_outbox({ run })
if outbox_damage then return { 'damaged', outbox_damage } end
local rollback = p.rollback or run.cancel == 'rollback'
local base = run.base_checkpoint_id
if rollback and base ~= '' and redis.call('HEXISTS', checkpoints_key, base) == 0 then
  return { 'damaged', checkpoints_key }
end
if p.dead_letters then
  local letters_damage = damaged_letters(p.dead_letters.listed, p.dead_letters.key)
  if letters_damage then return { 'damaged', letters_damage } end
end
if p.commit and not rollback and is_stale(record, p.commit) then return { 'fenced', 'another head' } end

-- A run that was stopped, or ends at a breakpoint, leaves them to the next run of the thread.
if p.status == 'success' and not rollback and not p.has_next and run.cancel == '' then
  local waiting = count_waiting(record)
  if waiting > 0 or has_goal_change(record) then return { 'steered', waiting } end
end

-- Queues the thread for memory extraction by the time of its last message. These are the first writes, so that a key of a
-- foreign type, which is returned, stops the script before it changes the thread. An entry without new messages has no effect.
local function remember(job)
  local function has_failed(reply) return type(reply) == 'table' and reply.err end
  local said = string.format('%d', now_us)
  if has_failed(redis.pcall('HSET', job.jobs, 'said:' .. job.agent, said, 'said_ms:' .. job.agent, now_ms_text)) then return job.jobs end
  if has_failed(redis.pcall('ZADD', job.user_due, now_ms_text, job.member)) then return job.user_due end
  if has_failed(redis.pcall('ZADD', job.due, now_ms_text, job.member)) then return job.due end
end

local function settled_status(open)
  if rollback then return record.settled end
  if p.status == 'error' or p.status == 'timeout' then return 'error' end
  if #open > 0 then return 'interrupted' end
  if p.status ~= 'success' or record.head == '' then return 'idle' end
  local has_next = p.has_next
  if has_next == nil then has_next = head_has_next(record) end
  return has_next and 'interrupted' or 'idle'
end

if p.remember and not rollback then
  local damage = remember(p.remember)
  if damage then return { 'damaged', damage } end
end
-- Events that readers may have seen and that are not written, as by a rollback, leave their numbers unused.
if rollback or p.incomplete then skip_numbers(run, p.shown) end
local first, checkpoint, created_at, thread_fields = run.seq + 1, '', now_iso, {}
if rollback then
  add_end(run, 'interrupted')
  count_usage(run) -- also after a rollback
  roll_back(record, run)
  thread_fields = { 'head', base }
else
  local fields = { 'status', p.status, 'ended_by', p.epoch }
  -- The last step and the end are one entry of the log where nothing is between them.
  local joins_end = p.commit and p.is_open and #p.more_events == 0
  if p.commit then
    p.commit.has_pruned = run.input_committed == '1'
    checkpoint, created_at, thread_fields = commit_step(record, run, joins_end and end_event(p.status))
    append_list(fields, count_usage(run))
    if p.goal_change then settle_goal_change(record, fields) end
  end
  for _, events in ipairs(p.more_events) do add_event(run, take(), events) end
  add_end(run, p.status, checkpoint ~= '' and checkpoint or nil, p.trace and take(), joins_end)
  if p.trace and p.trace.texts then store_trace_texts(p.trace.texts) end
  if run.replaces and record.head ~= base then
    -- Only a rollback of this run would show again the turn that it replaces, and the checkpoint at its end.
    drop_hidden_rows(run)
    release_base(record, base)
    append_to(fields, 'base_checkpoint_id', '')
  end
  if p.replaced then
    redis.call('SET', kwargs_key(p.run), p.replaced.kwargs)
    append_to(fields, 'metadata', '{}', 'multitask_strategy', 'enqueue', 'dropped', '', 'cancel', '')
  end
  if p.stop_reason ~= '' then append_to(fields, 'stop_reason', p.stop_reason) end
  if p.error ~= '' then append_to(fields, 'error', p.error) end
  close_record(record, run, fields)
  if p.dead_letters then add_dead_letter(p.dead_letters) end
end
if files then redis.call('HDEL', files.key, 'before') end
-- Most turns have no entry of the journal, no run waits behind them, and no thread waits for a slot: one command for all.
local nothing_waits = redis.call('EXISTS', executions_key, inbox_key, unpack(p.queue)) == 0
local was_last = nothing_waits or redis.call('EXISTS', executions_key, inbox_key) == 0
if not was_last then expire_journal() end
release_lease()
local asked = asked_after(record, thread_fields, rollback or (p.commit and p.commit.channels))
local open = open_in(asked)
local more = settle(record, settled_status(open), '', thread_fields, was_last)
local question = p.question and not rollback
if (asked or record.listed or question or record.question) and record.temporary ~= '1' then
  list_interrupts(open, pending_member, question, record_key)
  if question then redis.call('HSET', record_key, 'question', '1') else redis.call('HDEL', record_key, 'question') end
end
if turns and leave_turns(user, thread_id) then more = true end
-- Leaving the turns may let a thread of the user wait for a slot.
local queue_is_empty = nothing_waits
if turns or not was_last then queue_is_empty = redis.call('EXISTS', unpack(p.queue)) == 0 end
return {
  'ok', rollback and 1 or 0, first, checkpoint, created_at, more and 1 or 0, run.bytes, budget, queue_is_empty and 1 or 0,
}
