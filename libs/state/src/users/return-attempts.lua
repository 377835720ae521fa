#!lua
--[[ Subtracts one attempt from each of the counters; a window that has ended remains ended.
  KEYS    counters
  Reply   0 ]]
for _, key in ipairs(KEYS) do
  if tonumber(redis.call('GET', key) or 0) > 0 then redis.call('DECR', key) end
end
return 0
