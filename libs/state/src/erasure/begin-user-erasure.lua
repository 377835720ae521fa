#!lua flags=allow-oom
--[[ Begins to erase a user, or returns the erasure that is under way.
  KEYS[1] erasing, hash; KEYS[2] the user's runs in flight, set; KEYS[3] the account of the administrator who asks, if there is
          one: an account that was removed, or is being erased, has no rights any more
  ARGV    the user; the administrator, if there is KEYS[3]
  Reply  {'begun', token}; {'busy'}: a run is in flight; {'no_admin'}: nothing is written ]]
-- @include ../includes/clock.lua
if KEYS[3] and (redis.call('HGET', KEYS[3], 'admin') ~= '1' or redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1) then
  return { 'no_admin' }
end
if redis.call('SCARD', KEYS[2]) > 0 then return { 'busy' } end
redis.call('HSETNX', KEYS[1], ARGV[1], string.format('%.0f', now_us))
return { 'begun', redis.call('HGET', KEYS[1], ARGV[1]) }
