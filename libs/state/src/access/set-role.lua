#!lua
--[[ Makes an account that of an administrator, or of a user. One administrator has to remain.
  KEYS[1] account, hash; KEYS[2] administrators, set of user ids; KEYS[3] erasing, hash; KEYS[4] audit, stream
  ARGV    user id, '1' for an administrator, prefix of the records of accounts, user id of the first account, line of the
          audit, most lines
  Reply   {'ok', row of account-row.lua}; {'missing'}, {'erasing'}, {'last'}: nothing is written ]]
-- @include ../includes/clock.lua
-- @include enter-change.lua
-- @include account-row.lua
local user_id, admin, prefix, first, line, max_lines = unpack(ARGV)
local email, known = unpack(redis.call('HMGET', KEYS[1], 'email', 'admin'))
if not email then return { 'missing' } end
if redis.call('HEXISTS', KEYS[3], user_id) == 1 then return { 'erasing' } end

-- The set has no entry for a first account of an earlier version.
local function is_administrator(id)
  return redis.call('HGET', prefix .. id, 'admin') == '1' and redis.call('HEXISTS', KEYS[3], id) == 0
end
local others = first ~= user_id and is_administrator(first)
for _, id in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  if others then break end
  others = id ~= user_id and is_administrator(id)
end
if admin ~= '1' and known == '1' and not others then return { 'last' } end

if known ~= admin then
  redis.call('HSET', KEYS[1], 'admin', admin)
  redis.call(admin == '1' and 'SADD' or 'SREM', KEYS[2], user_id)
  enter_change(KEYS[4], line, max_lines)
end
return { 'ok', account_row(KEYS[1], user_id) }
