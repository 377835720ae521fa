#!lua
--[[ Whether a budget of today is used up.
  KEYS   none: the keys are named in the script, by the prefix
  ARGV   JSON: user, api_key ('' for none), prefix, budgets (ledger.lua)
  Reply  1 or 0 ]]
-- @include ../includes/clock.lua
-- @include ledger.lua
local p = cjson.decode(ARGV[1])
return spent_budget(p.prefix, p.budgets, p.user, p.api_key) and 1 or 0
