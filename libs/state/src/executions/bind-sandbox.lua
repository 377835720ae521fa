#!lua
--[[ Binds a thread's sandbox to a manager, or returns the existing binding.
  KEYS[1] binding, hash
  ARGV    prefixes of manager leases and of the numbers of their renewals, epoch, manager, sandbox, driver; keys of the
          thread's lease and of its last claim (epoch.lua), which managers may only read; the lapse that an earlier
          call returned, or ''. The epoch is '' for a manager that acts for no run
  Reply  {'bound', manager, sandbox, driver}; {'lapsed', manager, sandbox, driver, lapse}: the manager's lease is absent
         though not released, maybe only because the clock of Redis jumped, nothing is written; {'fenced'}, {'driver', driver of the binding}: nothing is written ]]
-- @include epoch.lua
local lease_prefix, renewals_prefix, epoch, manager, sandbox, driver = unpack(ARGV)
if epoch ~= '' and not is_owned_under(epoch, ARGV[7], ARGV[8]) then return { 'fenced' } end

local bound = redis.call('HMGET', KEYS[1], 'manager', 'sandbox', 'driver')
if bound[1] then
  if bound[1] == manager or redis.call('EXISTS', lease_prefix .. bound[1]) == 1 then
    return { 'bound', bound[1], bound[2], bound[3] }
  end
  local renewals = redis.call('GET', renewals_prefix .. bound[1])
  local lapse = renewals and bound[1] .. ':' .. renewals
  if lapse and lapse ~= ARGV[9] then return { 'lapsed', bound[1], bound[2], bound[3], lapse } end
  if bound[3] ~= driver then return { 'driver', bound[3] } end
end
redis.call('HSET', KEYS[1], 'manager', manager, 'sandbox', sandbox, 'driver', driver)
return { 'bound', manager, sandbox, driver }
