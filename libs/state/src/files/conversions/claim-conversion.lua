#!lua
--[[ Begins a conversion, or takes over a pending one whose lease has expired.
  KEYS[1] conversions of the thread, hash
  ARGV    file, token, ms of the lease, record to begin with ('' to take over)
  Reply  the record; nil when there is none to take over: nothing is written ]]
-- @include ../../includes/clock.lua
local file, token, lease_ms, record = unpack(ARGV)
if record == '' then
  local known = redis.call('HMGET', KEYS[1], 'r:' .. file, 'l:' .. file)
  local until_ms = known[2] and tonumber(known[2]:match(':(%d+)$'))
  if not known[1] or not until_ms or until_ms > now_ms then return false end
  record = known[1]
end
redis.call('HSET', KEYS[1], 'r:' .. file, record, 'l:' .. file, string.format('%s:%d', token, now_ms + lease_ms))
return record
