#!lua
--[[ Makes the next attempt of an event that waits due now.
  KEYS[1..2]  all, users (outbox.lua)
  ARGV[1]     JSON object: prefix, events, hosts (outbox.lua), user, event, audit (letters/audit-line.lua)
  Reply  'ok'; 'none': no such event waits, 'busy': an attempt is under way; nothing is written ]]
-- @include ../includes/clock.lua
local p = cjson.decode(ARGV[1])
local outbox = { all = KEYS[1], users = KEYS[2], prefix = p.prefix, events = p.events, hosts = p.hosts }
-- @include outbox.lua
-- @include ../letters/audit-line.lua
if not redis.call('ZSCORE', waiting_key(p.user), p.event) then return 'none' end
local lease_end = redis.call('ZSCORE', running_key(p.user), p.event)
if lease_end and tonumber(lease_end) > now_ms then return 'busy' end
redis.call('ZADD', waiting_key(p.user), now_ms, p.event)
schedule_user(p.user, now_ms)
write_audit()
return 'ok'
