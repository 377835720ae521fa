#!lua flags=allow-oom
--[[ Begins the time until their expiry again, of the items that have one and have not expired.
  KEYS  items.lua
  ARGV  members
  Reply  {'ok'}; {'damaged', key}: nothing is written ]]
-- @include items.lua
for _, member in ipairs(ARGV) do
  local expiry = redis.call('ZSCORE', expiries, member)
  if expiry and tonumber(expiry) > now_ms then
    local minutes = (redis.call('HGET', items, member) or ''):match('^%S+ %S+ (%d+) ')
    if minutes then redis.call('ZADD', expiries, string.format('%.0f', now_ms + minutes * 60000), member) end
  end
end
return { 'ok' }
