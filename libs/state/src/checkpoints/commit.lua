#!lua
--[[ Writes a state as the head of its thread for the run that owns it, and appends to the run's log, in one step.
  KEYS, ARGV  thread.lua; parameters owner, epoch, run (fence.lua), lease_ms, those of run-commit.lua, after, `joined` (waiting-list.lua), `opens` (the message
              that is streamed next, JSON),
              with a trace `trace`, {texts} (trace.lua), and the text of the step as last text but those; `goal_change` (goal-change.lua), and `unless_overtaken`: nothing is written when a client has asked for something
  Reply  {'ok', checkpoint id, its time, number of the first event, cancel flag or '', what the ledger says of the budgets (p.budgets and
          p.usage_prefix: also without usage); of a commit that was there already only whether one is used up; the messages that wait
          to join the run as waiting-list.lua has them, '1' when it is to pause, the change of the goal that it is to make: each absent
          or false for none}
         {'overtaken'}: messages or a change of the goal wait for the run, or it is to stop; nothing is written
         {'fenced', reason}, {'damaged', key}: nothing is written ]]
-- @include ../includes/fence.lua
-- @include ../includes/run-commit.lua
-- @include ../includes/usage.lua
-- @include ../steering/waiting-list.lua
-- @include ../goals/goal-change.lua
-- @include ../traces/trace.lua
local function is_spent(run)
  return p.budgets and spent_budget(p.usage_prefix, p.budgets, run.user_id, run.api_key or '')
end

-- What the loop has to know before its next step; nothing in most turns.
local function notices(record, run)
  if record.goal_change then return waiting_texts(record) or false, run.pause or false, record.goal_change end
  if run.pause then return waiting_texts(record) or false, run.pause end
  return waiting_texts(record)
end

local refusal, record, run = refused()
if refusal then return refusal end
local earlier = written_before(run, count_events(p.events) + 1)
if earlier == 'other' then return { 'fenced', 'another sequence' } end
if earlier then
  return { 'ok', record.head, iso(math.floor(micros_of(record.head) / 1000)), p.after + 1, run.cancel, is_spent(run) and 'spent' or '',
    notices(record, run) }
end
if is_stale(record, p.commit) then return { 'fenced', 'another head' } end
if p.unless_overtaken and (count_waiting(record) > 0 or has_goal_change(record) or run.cancel ~= '') then
  return { 'overtaken' }
end

retake_lease()
local first = run.seq + 1
local id, created_at, changed = commit_step(record, run)
local used = count_usage(run)
if p.joined then remove_joined(record, run, used) end
if p.goal_change then settle_goal_change(record, used) end
if budget ~= 'spent' and is_spent(run) then budget = 'spent' end
if p.trace then
  append_list(used, trace_step(run, id, take()))
  if p.trace.texts then store_trace_texts(p.trace.texts) end
end
append_to(used, 'tries', '0', 'open', p.opens or '', 'updated_at', now_iso)
if p.input_committed then append_to(used, 'input_committed', '1') end
if run.lowest_row then append_to(used, 'lowest_row', run.lowest_row) end
save_log(run, used)
touch_step(record, unpack(changed))
return { 'ok', id, created_at, first, run.cancel, budget, notices(record, run) }
