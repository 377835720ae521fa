#!lua flags=allow-oom
--[[ Removes the records of an upload to a thread that was deleted meanwhile; the hash remains only if a new thread has uploads.
  KEYS[1] conversions of the thread, hash; ARGV files ]]
for _, file in ipairs(ARGV) do redis.call('HDEL', KEYS[1], 'r:' .. file, 'l:' .. file, 'n:' .. file) end
if redis.call('HLEN', KEYS[1]) == 1 and tonumber(redis.call('HGET', KEYS[1], 'n') or #ARGV + 1) <= #ARGV then
  redis.call('UNLINK', KEYS[1])
end
return 1
