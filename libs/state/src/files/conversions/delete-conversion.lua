#!lua flags=allow-oom
--[[ Deletes the record of the conversion of a file.
  KEYS[1] conversions of the thread, hash; ARGV[1] file
  Reply  the record; nil when there is none ]]
local record = redis.call('HGET', KEYS[1], 'r:' .. ARGV[1])
redis.call('HDEL', KEYS[1], 'r:' .. ARGV[1], 'l:' .. ARGV[1], 'n:' .. ARGV[1])
return record
