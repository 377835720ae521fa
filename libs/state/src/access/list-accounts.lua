#!lua flags=allow-oom
--[[ Lists accounts, the newest first. Those that an earlier version created are entered into the order first.
  KEYS[1] accounts, hash of e-mail and user id; KEYS[2] their order, sorted set
  ARGV    prefix of the records of accounts, accounts to skip, most accounts to list
  Reply   {number of all accounts, row of account-row.lua, ...} ]]
-- @include ../includes/clock.lua
-- @include account-row.lua
local prefix, skip, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if redis.call('ZCARD', KEYS[2]) < redis.call('HLEN', KEYS[1]) then
  for _, user_id in ipairs(redis.call('HVALS', KEYS[1])) do
    redis.call('ZADD', KEYS[2], 'NX', redis.call('HGET', prefix .. user_id, 'created') or 0, user_id)
  end
end
local reply = { 0 }
for _, user_id in ipairs(redis.call('ZREVRANGE', KEYS[2], skip, skip + most - 1)) do
  local row = account_row(prefix .. user_id, user_id)
  if row then reply[#reply + 1] = row else redis.call('ZREM', KEYS[2], user_id) end
end
reply[1] = redis.call('ZCARD', KEYS[2])
return reply
