#!lua flags=no-writes
--[[ The files that were uploaded to a thread after a number.
  KEYS[1] conversions of the thread, hash: field `n` is the newest number, `n:<file>` that of a file
  ARGV    number
  Reply  {newest number, file, its number, file, its number, …} ]]
local newest = tonumber(redis.call('HGET', KEYS[1], 'n') or 0)
local since = tonumber(ARGV[1])
local reply = { newest }
if newest <= since then return reply end
local fields = redis.call('HGETALL', KEYS[1])
for index = 1, #fields, 2 do
  local file = fields[index]:match('^n:(.*)$')
  if file and tonumber(fields[index + 1]) > since then
    reply[#reply + 1] = file
    reply[#reply + 1] = tonumber(fields[index + 1])
  end
end
return reply
