#!lua flags=allow-oom
--[[ Removes a custom agent.
  KEYS[1], KEYS[2] agents, souls (AgentKeys in keys.ts)
  ARGV    name
  Reply  {'ok', 1}; {'ok', 0} when there is none; {'damaged', key}: nothing is written ]]
-- @include types.lua
for index = 1, 2 do
  if is_damaged(KEYS[index], 'hash') then return { 'damaged', KEYS[index] } end
end
local removed = redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], 's:' .. ARGV[1], 'c:' .. ARGV[1])
return { 'ok', removed }
