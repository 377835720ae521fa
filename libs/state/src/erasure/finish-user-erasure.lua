#!lua flags=allow-oom
--[[ Removes what is left of a user whose threads and memories were removed.
  KEYS[1] e-mails of all accounts, hash; KEYS[2] order of accounts, sorted set; KEYS[3] administrators, set
  KEYS[4] the account, hash; KEYS[5..] keys that go with it
  ARGV[1] the user ]]
local email = redis.call('HGET', KEYS[4], 'email')
if email and redis.call('HGET', KEYS[1], email) == ARGV[1] then redis.call('HDEL', KEYS[1], email) end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('SREM', KEYS[3], ARGV[1])
redis.call('UNLINK', unpack(KEYS, 4))
return 1
