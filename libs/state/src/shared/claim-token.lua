#!lua
--[[ Acquires the lock of an access token, unless another owner has it.
  KEYS[1] token, hash
  ARGV    owner, ms of the lock
  Reply  {'held', record or ''}; {'busy'}: nothing is written ]]
-- @include ../includes/clock.lua
local owner, lock_ms = unpack(ARGV)
local lock = redis.call('HGET', KEYS[1], 'lock')
if lock then
  local holder, until_ms = lock:match('^(.*):(%d+)$')
  if holder ~= owner and tonumber(until_ms) > now_ms then return { 'busy' } end
end
redis.call('HSET', KEYS[1], 'lock', string.format('%s:%d', owner, now_ms + lock_ms))
return { 'held', redis.call('HGET', KEYS[1], 'record') or '' }
