#!lua flags=allow-oom
--[[ The files of what was deleted were moved aside: its id may be used again, and what was moved is due to be removed.
  KEYS[1] erasing, hash; KEYS[2] erased, sorted set; KEYS[3..] what is known of uploads: one that ends after the deletion began
          enters itself once more
  ARGV    member, token, name of what was moved
  Reply  1; 0: another deletion waits, or none: nothing is written ]]
-- @include ../includes/clock.lua
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[2], now_ms, ARGV[3])
for at = 3, #KEYS do redis.call('UNLINK', KEYS[at]) end
return 1
