#!lua flags=allow-oom
--[[ Releases a slot. The entry of a task that has not ended remains without a lease, so that the task is next.
  KEYS[1] slots; KEYS[2] tokens; KEYS[3] pending set
  ARGV    token, member of the pending set
  Reply  {'ok'}; {'fenced'}: another token has acquired it, nothing is written ]]
local token, member = ARGV[1], ARGV[2]
if redis.call('HGET', KEYS[2], member) ~= token then return { 'fenced' } end
redis.call('HDEL', KEYS[2], member)
if redis.call('ZSCORE', KEYS[3], member) then
  redis.call('ZADD', KEYS[1], 'XX', 0, member)
else
  redis.call('ZREM', KEYS[1], member)
end
return { 'ok' }
