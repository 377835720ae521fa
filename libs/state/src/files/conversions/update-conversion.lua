#!lua flags=allow-oom
--[[ Renews, releases or ends the conversion of a file, if the caller holds its lease.
  KEYS[1] conversions of the thread, hash
  ARGV    file, token, ms of the lease from now ('' when it ends here), record ('' to leave the stored one)
  Reply  1; 0 when the token does not hold it: nothing is written ]]
-- @include ../../includes/clock.lua
local file, token, lease_ms, record = unpack(ARGV)
local held = redis.call('HGET', KEYS[1], 'l:' .. file)
if not held or held:match('^(.*):%d+$') ~= token then return 0 end
if record ~= '' then redis.call('HSET', KEYS[1], 'r:' .. file, record) end
if lease_ms == '' then
  redis.call('HDEL', KEYS[1], 'l:' .. file)
else
  redis.call('HSET', KEYS[1], 'l:' .. file, string.format('%s:%d', token, now_ms + lease_ms))
end
return 1
