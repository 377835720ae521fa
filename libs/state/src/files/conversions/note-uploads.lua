#!lua
--[[ Numbers files that were uploaded to a thread, in the order in which they came.
  KEYS[1] conversions of the thread, hash: field `n` is the newest number, `n:<file>` that of a file
  ARGV    files
  Reply  the newest number ]]
for _, file in ipairs(ARGV) do
  redis.call('HSET', KEYS[1], 'n:' .. file, redis.call('HINCRBY', KEYS[1], 'n', 1))
end
return tonumber(redis.call('HGET', KEYS[1], 'n') or 0)
