#!lua
--[[ Replaces the password of an account, and its e-mail if another one is given, and ends all its sessions but a new one.
  KEYS[1] accounts, hash of e-mail and user id
  KEYS[2] account, hash
  KEYS[3] its sessions, hash
  ARGV    user id, password record that is replaced, new one, e-mail ('': unchanged), digest of the new session, its ms
          to live, '1' for a remembered one
  Reply   'changed'; 'stale' when the account has another password or is gone, 'email_taken': nothing is written ]]
-- @include ../includes/clock.lua
-- @include put-session.lua
local user_id, from, to, email, digest, ttl_ms, remembered = unpack(ARGV)
local known_email, known_password = unpack(redis.call('HMGET', KEYS[2], 'email', 'password'))
if known_password ~= from then return 'stale' end
local moves = email ~= '' and email ~= known_email
if moves and redis.call('HEXISTS', KEYS[1], email) == 1 then return 'email_taken' end
if moves then
  redis.call('HDEL', KEYS[1], known_email)
  redis.call('HSET', KEYS[1], email, user_id)
  redis.call('HSET', KEYS[2], 'email', email)
end
redis.call('HSET', KEYS[2], 'password', to)
redis.call('DEL', KEYS[3])
put_session(KEYS[3], digest, tonumber(ttl_ms), remembered)
return 'changed'
