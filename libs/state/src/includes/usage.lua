-- Counts the tokens of model calls in the run's record and in the thread's totals, which outlive the run. Needs thread.lua.
-- Parameter p.usage, absent when nothing was spent: turns, input, output; callers: { { name, tokens }, … }; models:
-- { { name, input, output, cached, written, reasoning }, … }; ledger (ledger.lua). `budget` is then what that says of the budgets.
-- The totals: input, output, runs, models (how many have a name of their own), c:<caller>, t:<model> (tokens), in:, out:,
-- cached:, written: and reasoning:<model> (their parts, absent for none) and r:<model> (runs). A run is in a count of runs when its record has `counted`, or `m:<model>`.
local MAX_MODELS = 50
local PARTS = { 'in:', 'out:', 'cached:', 'written:', 'reasoning:' }
local budget = ''

local function plus(before, amount) return string.format('%d', (before and tonumber(before) or 0) + amount) end

-- Reads the totals that a use may change.
local function read_totals(spent)
  local fields, known = { 'input', 'output', 'runs', 'models', 't:other', 'r:other' }, {}
  for _, caller in ipairs(spent.callers) do fields[#fields + 1] = 'c:' .. caller[1] end
  for _, entry in ipairs(spent.models) do
    append_to(fields, 't:' .. entry[1], 'r:' .. entry[1])
    for _, part in ipairs(PARTS) do fields[#fields + 1] = part .. entry[1] end
  end
  local found = redis.call('HMGET', usage_key, unpack(fields))
  for index = 1, #fields do known[fields[index]] = found[index] or nil end
  return known
end

-- @include ../usage/ledger.lua
-- Adds to the thread's totals and to the ledger; returns the changed fields of the run's record as arguments of HSET.
local function count_usage(run)
  local spent = p.usage
  if not spent then return {} end
  if spent.ledger then
    local agent = (run.agent or '') ~= '' and run.agent or run.assistant_id
    budget = enter_usage(spent.ledger, { user = run.user_id, key = run.api_key or '', agent = agent })
  end
  local known, totals, mine = read_totals(spent), {}, {}
  local function total(field) return totals[field] or known[field] or 0 end
  local function add(field, amount) totals[field] = plus(totals[field] or known[field], amount) end
  -- After MAX_MODELS, further models share one name.
  local function counted_as(model)
    if totals['t:' .. model] or known['t:' .. model] then return model end
    if tonumber(total('models')) >= MAX_MODELS then return 'other' end
    add('models', 1)
    return model
  end
  local function count_run(mark, field)
    if run[mark] or mine[mark] then return end
    mine[mark] = '1'
    add(field, 1)
  end

  for _, caller in ipairs(spent.callers) do
    local field = caller[1] .. '_tokens'
    mine[field] = plus(run[field], caller[2])
    add('c:' .. caller[1], caller[2])
  end
  for _, entry in ipairs(spent.models) do
    local model = counted_as(entry[1])
    add('t:' .. model, entry[2] + entry[3])
    -- Parts of several models under one name say nothing of what they cost.
    for index, part in ipairs(PARTS) do
      if model == entry[1] and entry[index + 1] > 0 then add(part .. model, entry[index + 1]) end
    end
    count_run('m:' .. model, 'r:' .. model)
  end
  if #spent.models > 0 then
    count_run('counted', 'runs')
    add('input', spent.input)
    add('output', spent.output)
    redis.call('HSET', usage_key, unpack(flat_of(totals)))
  end
  mine.input_tokens, mine.output_tokens = plus(run.input_tokens, spent.input), plus(run.output_tokens, spent.output)
  mine.calls = plus(run.calls, spent.turns)
  return flat_of(mine)
end
