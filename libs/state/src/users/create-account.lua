#!lua
--[[ Creates an account.
  KEYS[1] accounts, hash of e-mail and user id
  KEYS[2] account, hash
  KEYS[3] order of accounts, sorted set; KEYS[4] administrators, set
  ARGV    user id, e-mail, '1' for an administrator, password record, '1' for the first account, most accounts
  Reply   'created'; 'initialized' when an account exists already, 'not_initialized' when none exists yet,
          'email_taken', 'full': nothing is written ]]
-- @include ../includes/clock.lua
local user_id, email, admin, password, first, max = unpack(ARGV)
local count = redis.call('HLEN', KEYS[1])
if first == '1' and count > 0 then return 'initialized' end
if first ~= '1' and count == 0 then return 'not_initialized' end
if redis.call('HEXISTS', KEYS[1], email) == 1 then return 'email_taken' end
if count >= tonumber(max) then return 'full' end
redis.call('HSET', KEYS[1], email, user_id)
redis.call('HSET', KEYS[2], 'email', email, 'admin', admin, 'password', password, 'created', string.format('%d', now_ms))
redis.call('ZADD', KEYS[3], now_ms, user_id)
if admin == '1' then redis.call('SADD', KEYS[4], user_id) end
return 'created'
