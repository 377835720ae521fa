#!lua flags=allow-oom
--[[ Removes a cron with the list of its runs. The runs remain.
  KEYS[1..4]  record, runs (list), the user's crons, due crons of all users
  ARGV        id, member of the due crons
  Reply       1 when it was there ]]
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[2])
redis.call('UNLINK', KEYS[2])
return redis.call('UNLINK', KEYS[1])
