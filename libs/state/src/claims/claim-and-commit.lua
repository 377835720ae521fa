#!lua
--[[ Claims a thread as claim.lua does. If its run is the one that a gateway has just offered, and begins from the head that the caller
  expects, the run's first checkpoint, which contains its input, is written in the same step.
  KEYS, ARGV  those of claim.lua and of run-commit.lua, p.after (0) and p.input_committed among them; `first`, id of the offered run; `opens` (commit.lua); with
              budgets budgets, usage_prefix; with a trace `trace` and its texts (trace.lua)
  Reply       that of claim.lua; with the first checkpoint the record has only the fields in `shown`, head and kwargs are false, and the last value is {checkpoint id, its time,
              number of the first event, 'spent' when a budget is used up, else ''} ]]
-- @include ../includes/thread.lua
-- @include ../includes/run-commit.lua
-- @include ../usage/ledger.lua
-- @include ../steering/waiting-list.lua
-- @include ../traces/trace.lua
local first_commit = {}

local function committed_first(run, id, created_at)
  local spent = p.budgets and spent_budget(p.usage_prefix, p.budgets, run.user_id, run.api_key or '')
  return { id, created_at, p.after + 1, spent and 'spent' or '' }
end

-- The fields of the run's record that the caller needs and does not know.
function first_commit.shown(run)
  local shown, length = {}, 0
  for _, field in ipairs({ 'assistant_id', 'metadata', 'multitask_strategy', 'created_at', 'updated_at', 'ordinal', 'started', 'attempt',
    'base_checkpoint_id', 'cancel', 'api_key', 'traceparent', 'pause' }) do
    local value = run[field]
    if value and value ~= '' then
      shown[length + 1], shown[length + 2] = field, value
      length = length + 2
    end
  end
  return shown
end

-- The commit that an earlier, repeated claim wrote; nil for none.
function first_commit.found(record, run)
  if run.run_id ~= p.first or run.input_committed ~= '1' then return nil end
  if written_before(run, count_events(p.events) + 1) ~= true then return nil end
  return committed_first(run, record.head, iso(math.floor(micros_of(record.head) / 1000)))
end

-- Whether the run begins as the caller expects. `storing`: files of before it are not stored yet, which have to be first.
function first_commit.may_follow(record, run, storing)
  return run.run_id == p.first and tonumber(run.seq) == p.after and run.fork_checkpoint_id == '' and not storing
    and count_waiting(record) == 0 and not is_stale(record, p.commit)
end

-- Writes it with what the claim changes: fields of the run's and of the thread's record, and parts of the run's trace.
function first_commit.write(record, run, claimed)
  local fields, owned = claimed.of_run, claimed.of_thread
  local id, created_at, changed = commit_step(record, run)
  local used = {}
  if p.trace then
    append_list(used, trace_step(run, id, take(), claimed.trace))
    if p.trace.texts then store_trace_texts(p.trace.texts) end
  elseif run.traced then
    redis.call('RPUSH', trace_key(run.run_id), unpack(claimed.trace))
  end
  append_to(used, 'tries', '0', 'input_committed', '1', 'open', p.opens or '')
  if run.lowest_row then append_to(used, 'lowest_row', run.lowest_row) end
  append_list(fields, used)
  save_log(run, fields)
  append_list(owned, changed)
  touch_step(record, unpack(owned))
  return committed_first(run, id, created_at)
end
-- @include claim-run.lua
