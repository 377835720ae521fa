-- Counts the tokens of model calls in the run's record and in the thread's totals, which outlive the run. Needs thread.lua.
-- Parameter p.usage, absent when nothing was spent: turns, input, output; callers: { { name, tokens }, … }; models:
-- { { name, input, output, cached, written, reasoning }, … }; ledger (ledger.lua). `budget` is then what that says of the budgets.
-- The totals: `all` (runs,input,output), `m:<model>` (runs,tokens,input,output,cached,written,reasoning: the last five are 0 where
-- several models share a name), `c:<caller>` (tokens), `models` (how many have a name of their own). What an earlier version counted
-- stays beside them, in fields of its own, and readers add both: input, output, runs, t:, r:, in:, out:, cached:, written: and
-- reasoning:<model>. A run is in a count of runs when its record has `counted`, or `m:<model>`.
local MAX_MODELS = 50
local budget = ''

local function plus(before, amount) return string.format('%d', (before and tonumber(before) or 0) + amount) end

-- @include ../usage/ledger.lua
-- Reads totals as a table.
local function read_totals(fields)
  local known = {}
  for index, text in ipairs(redis.call('HMGET', usage_key, unpack(fields))) do known[fields[index]] = text or nil end
  return known
end

-- The name under which a model is counted: after MAX_MODELS, further ones share one. `totals` has what was counted of it before.
local function counted_as(model, totals)
  if totals['m:' .. model] then return model end
  local found = redis.call('HMGET', usage_key, 'models', 't:' .. model, 'm:other')
  local models = tonumber(totals.models or found[1] or 0)
  if not found[2] then
    if models >= MAX_MODELS then
      totals['m:other'] = totals['m:other'] or found[3] or nil
      return 'other'
    end
    totals.models = text_of(models + 1)
  end
  return model
end

-- Adds to the thread's totals and to the ledger; returns the changed fields of the run's record as arguments of HSET.
local function count_usage(run)
  local spent = p.usage
  if not spent then return {} end
  if spent.ledger then
    local agent = (run.agent or '') ~= '' and run.agent or run.assistant_id
    budget = enter_usage(spent.ledger, { user = run.user_id, key = run.api_key or '', agent = agent })
  end
  local mine = { 'input_tokens', plus(run.input_tokens, spent.input), 'output_tokens', plus(run.output_tokens, spent.output),
    'calls', plus(run.calls, spent.turns) }
  if #spent.models == 0 then return mine end
  local fields = { 'all' }
  for _, caller in ipairs(spent.callers) do fields[#fields + 1] = 'c:' .. caller[1] end
  for _, entry in ipairs(spent.models) do fields[#fields + 1] = 'm:' .. entry[1] end
  local totals, marked = read_totals(fields), {}
  -- 1 for the first calls of the run in a count of runs.
  local function first_of_run(mark)
    if run[mark] or marked[mark] then return 0 end
    marked[mark] = true
    append_to(mine, mark, '1')
    return 1
  end

  for _, caller in ipairs(spent.callers) do
    local field = caller[1] .. '_tokens'
    append_to(mine, field, plus(run[field], caller[2]))
    totals['c:' .. caller[1]] = plus(totals['c:' .. caller[1]], caller[2])
  end
  for _, entry in ipairs(spent.models) do
    local name, input, output, cached, written, reasoning = unpack(entry)
    local model = counted_as(name, totals)
    local tokens = input + output
    -- Parts of several models under one name say nothing of what they cost.
    if model ~= name then input, output, cached, written, reasoning = 0, 0, 0, 0, 0 end
    local field = 'm:' .. model
    totals[field] = sum_of(totals[field], { '', first_of_run(field), tokens, input, output, cached, written, reasoning })
  end
  totals.all = sum_of(totals.all, { '', first_of_run('counted'), spent.input, spent.output })
  redis.call('HSET', usage_key, unpack(flat_of(totals)))
  return mine
end
