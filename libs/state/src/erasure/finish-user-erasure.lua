#!lua flags=allow-oom
--[[ Removes what is left of a user whose threads and memories were removed.
  KEYS[1] e-mails of all accounts, hash; KEYS[2] the account, hash; KEYS[3..] keys that go with it
  ARGV[1] the user ]]
local email = redis.call('HGET', KEYS[2], 'email')
if email and redis.call('HGET', KEYS[1], email) == ARGV[1] then redis.call('HDEL', KEYS[1], email) end
redis.call('UNLINK', unpack(KEYS, 2))
return 1
