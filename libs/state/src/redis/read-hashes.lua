#!lua flags=no-writes
--[[ Reads hashes one after the other, as far as they are small enough together.
  KEYS  hashes
  ARGV  bytes of fields and values after which no further hash is read
  Reply  {{field, value, …}, …}: the first hashes, at least one; an empty list for an absent one ]]
local replies, bytes = {}, 0
for index, key in ipairs(KEYS) do
  local flat = redis.call('HGETALL', key)
  for _, text in ipairs(flat) do bytes = bytes + #text end
  if index > 1 and bytes > tonumber(ARGV[1]) then break end
  replies[index] = flat
end
return replies
