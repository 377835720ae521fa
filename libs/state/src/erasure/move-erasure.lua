#!lua flags=allow-oom
--[[ Records that the files of a deletion were moved aside: the id may be used again, and the moved files are due for removal.
  KEYS[1] erasing, hash; KEYS[2] erased, sorted set; KEYS[3..] upload records: an upload that ends after the deletion
          began writes them again
  ARGV    member, token, name of what was moved
  Reply  1; 0: another deletion is pending, or none: nothing is written ]]
-- @include ../includes/clock.lua
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[2], now_ms, ARGV[3])
for at = 3, #KEYS do redis.call('UNLINK', KEYS[at]) end
return 1
