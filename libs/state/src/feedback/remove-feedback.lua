#!lua flags=allow-oom
--[[ Removes feedback on a run.
  KEYS[1]  the feedback of the thread (put-feedback.lua)
  ARGV  run, id
  Reply  1; 0 when there is none ]]
if redis.call('HGET', KEYS[1], 'r:' .. ARGV[1]) == ARGV[2] then redis.call('HDEL', KEYS[1], 'r:' .. ARGV[1]) end
local removed = redis.call('HDEL', KEYS[1], 'f:' .. ARGV[2])
if removed == 1 then redis.call('HINCRBY', KEYS[1], 'n', -1) end
return removed
