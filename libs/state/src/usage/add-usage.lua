#!lua
--[[ Enters the usage of model calls that belong to no run, such as suggestions.
  KEYS   none: the keys are named in the script, by the prefix
  ARGV   JSON: user, api_key ('' for none), agent, ledger (ledger.lua), thread (key of its record, may be absent)
  Reply  what the ledger says of the budgets; 'gone' when there is no such thread: nothing is written ]]
-- @include ../includes/clock.lua
local p = cjson.decode(ARGV[1])
-- @include ledger.lua
if p.thread and redis.call('EXISTS', p.thread) == 0 then return 'gone' end
return enter_usage(p.ledger, { user = p.user, key = p.api_key, agent = p.agent })
