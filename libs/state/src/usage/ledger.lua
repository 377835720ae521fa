-- Enters the usage of model calls by user, API key, agent, model and day (UTC). Needs clock.lua.
-- `ledger`: prefix; ttl_ms; rows: { { model, count, … }, … } in the order of usage/ledger-rows.ts, the last count is the cost;
-- budgets, absent without any: user, key (limits of the cost, each may be absent), warn (a share of them).
-- The hash of a user and day: `cost`, `k:<key>` (cost of that API key), `rows` (how many there are), `r:["<key>","<agent>",
-- "<model>"]` (the counts). The set of a day has the users of that day.
local MAX_ROWS = 500

local function usage_keys(ledger, user)
  local day = now_iso:sub(1, 10)
  return ledger.prefix .. user .. ':' .. day, ledger.prefix .. 'users:' .. day
end

-- Adds counts, from the second value of a list on, to a text that has them with commas between; an absent one counts as 0.
local function sum_of(text, counts)
  local sums, index = {}, 2
  for number in (text or ''):gmatch('%d+') do
    sums[index - 1] = counts[index] == 0 and number or string.format('%d', number + counts[index])
    index = index + 1
  end
  for rest = index, #counts do sums[rest - 1] = string.format('%d', counts[rest]) end
  return table.concat(sums, ',')
end

-- 'spent' once a budget is used up, 'warn' when these calls brought it over the share, else ''.
-- @rare
local function budget_state(budgets, before, after)
  local state = ''
  for name, limit in pairs({ user = budgets.user, key = budgets.key }) do
    if after[name] and after[name] >= limit then return 'spent' end
    if after[name] and before[name] < limit * budgets.warn and after[name] >= limit * budgets.warn then state = 'warn' end
  end
  return state
end

-- The budget of a user or API key that is used up: its name, cost and limit; nil for none.
-- @rare
local function spent_budget(prefix, budgets, user, key)
  local hash = usage_keys({ prefix = prefix }, user)
  local costs = redis.call('HMGET', hash, 'cost', 'k:' .. key)
  if budgets.user and tonumber(costs[1] or 0) >= budgets.user then return 'user', costs[1] or '0', budgets.user end
  if key ~= '' and budgets.key and tonumber(costs[2] or 0) >= budgets.key then
    return 'key', costs[2] or '0', budgets.key
  end
end

local SHARED_ROW = 'r:["","other","other"]'

-- Two commands; three more for the first calls of a user in a day, one more once rows share one.
local function enter_usage(ledger, payer)
  local hash, users = usage_keys(ledger, payer.user)
  local key_field = payer.key ~= '' and 'k:' .. payer.key or 'cost'
  local fields, changes, cost = { 'cost', 'rows', key_field }, {}, 0
  for index, row in ipairs(ledger.rows) do
    fields[index + 3] = 'r:' .. cjson.encode({ payer.key, payer.agent, row[1] })
  end
  local known = redis.call('HMGET', hash, unpack(fields))
  local rows = tonumber(known[2] or 0)
  for index, row in ipairs(ledger.rows) do
    local field, before = fields[index + 3], known[index + 3]
    if not before and not changes[field] then
      if rows < MAX_ROWS then
        rows = rows + 1
        changes.rows = string.format('%d', rows)
      else
        field, before = SHARED_ROW, redis.call('HGET', hash, SHARED_ROW)
      end
    end
    changes[field] = sum_of(changes[field] or before or nil, row)
    cost = cost + row[#row]
  end
  local before = { user = tonumber(known[1] or 0), key = payer.key ~= '' and tonumber(known[3] or 0) or nil }
  local after = { user = before.user + cost, key = before.key and before.key + cost }
  if cost > 0 or not known[1] then changes.cost = string.format('%d', after.user) end
  if after.key and (cost > 0 or not known[3]) then changes[key_field] = string.format('%d', after.key) end
  local list, length = {}, 0
  for field, value in pairs(changes) do
    list[length + 1], list[length + 2] = field, value
    length = length + 2
  end
  if length > 0 then redis.call('HSET', hash, unpack(list)) end
  if not known[1] then
    redis.call('PEXPIRE', hash, string.format('%.0f', ledger.ttl_ms))
    redis.call('SADD', users, payer.user)
    redis.call('PEXPIRE', users, string.format('%.0f', ledger.ttl_ms))
  end
  return ledger.budgets and budget_state(ledger.budgets, before, after) or ''
end
