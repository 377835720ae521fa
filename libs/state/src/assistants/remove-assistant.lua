#!lua flags=allow-oom
--[[ Removes an assistant with its versions.
  KEYS, ARGV[1]  assistant.lua
  ARGV[2]  most versions of an assistant
  Reply  {'ok', 1}; {'ok', 0} when there is none; {'damaged', key}: nothing is written ]]
-- @include assistant.lua
local meta = read_meta()
if not meta then return { 'ok', 0 } end
for number = meta.newest, math.max(1, meta.newest - tonumber(ARGV[2]) + 1), -1 do drop_version(number) end
redis.call('HDEL', heads, 'm:' .. id, 'c:' .. id)
return { 'ok', 1 }
