#!lua
--[[ Binds a thread's sandbox to a manager, or answers with the binding that stands.
  KEYS[1] binding, hash; KEYS[2] lease of the thread
  ARGV    prefix of manager leases, epoch, manager, sandbox, driver
  Reply  {'bound', manager, sandbox, driver}; {'fenced'}, {'driver', driver of the binding}: nothing is written ]]
local epoch, manager, sandbox, driver = unpack(ARGV, 2, 5)
local lease = redis.call('GET', KEYS[2])
if not lease or lease:match(':(%d+)$') ~= epoch then return { 'fenced' } end

local bound = redis.call('HMGET', KEYS[1], 'manager', 'sandbox', 'driver')
if bound[1] then
  if bound[1] == manager or redis.call('EXISTS', ARGV[1] .. bound[1]) == 1 then
    return { 'bound', bound[1], bound[2], bound[3] }
  end
  if bound[3] ~= driver then return { 'driver', bound[3] } end
end
redis.call('HSET', KEYS[1], 'manager', manager, 'sandbox', sandbox, 'driver', driver)
return { 'bound', manager, sandbox, driver }
