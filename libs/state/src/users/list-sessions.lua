#!lua flags=no-writes
--[[ Lists the sessions of an account that have not ended.
  KEYS[1] its sessions, hash
  Reply   {digest, ms of its opening, ms of its end, '1' for a remembered one} of each, in no order ]]
-- @include ../includes/clock.lua
local live = {}
local fields = redis.call('HGETALL', KEYS[1])
for at = 1, #fields, 2 do
  local opened, ends, remembered = fields[at + 1]:match('^(%d+):(%d+):(%d)$')
  if tonumber(ends) > now_ms then live[#live + 1] = { fields[at], opened, ends, remembered } end
end
return live
