#!lua
--[[ Opens a session of an account, if its password is still the one that was checked.
  KEYS[1] account, hash
  KEYS[2] its sessions, hash
  ARGV    password record, digest, ms to live, '1' for a remembered one
  Reply   1; 0 when the account has another password or is gone: nothing is written ]]
-- @include ../includes/clock.lua
-- @include put-session.lua
local password, digest, ttl_ms, remembered = unpack(ARGV)
if redis.call('HGET', KEYS[1], 'password') ~= password then return 0 end
redis.call('HSET', KEYS[1], 'signed_in', string.format('%d', now_ms))
put_session(KEYS[2], digest, tonumber(ttl_ms), remembered)
return 1
