#!lua flags=no-writes
--[[ Reads message entries of a thread's log by number; removed ones are skipped.
  KEYS[1] log; ARGV first and last number, bytes after which no further entry is read
  Reply  {last number that was read, number, text, number, text, …} ]]
-- @include ../../includes/stored-text.lua
local bytes, reply = 0, { 0 }
local entry, last = tonumber(ARGV[1]), tonumber(ARGV[2])
while entry <= last and bytes < tonumber(ARGV[3]) do
  local number = string.format('%.0f', entry)
  local text = redis.call('HGET', KEYS[1], number)
  if text then
    bytes = bytes + plain_bytes(text)
    reply[#reply + 1] = number
    reply[#reply + 1] = text
  end
  entry = entry + 1
end
reply[1] = entry - 1
return reply
