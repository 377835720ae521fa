#!lua flags=no-writes
--[[ Reads items.
  KEYS  items.lua
  ARGV  most bytes of the reply, but of the first item, then members
  Reply  {'ok', text or '' for each of the first members, as many as fit}; {'damaged', key} ]]
-- @include items.lua
local reply, bytes = { 'ok' }, 0
for index = 2, #ARGV do
  local text = not has_expired(ARGV[index]) and redis.call('HGET', items, ARGV[index]) or ''
  bytes = bytes + #text
  if index > 2 and bytes > tonumber(ARGV[1]) then break end
  reply[#reply + 1] = text
end
return reply
