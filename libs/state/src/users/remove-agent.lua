#!lua flags=allow-oom
--[[ Removes a custom agent. The calls that wrote it last stay recorded, so that a repetition does not create it again.
  KEYS[1], KEYS[2] agents, souls (AgentKeys in keys.ts)
  ARGV    name
  Reply  {'ok', 1}; {'ok', 0} when there is none; {'damaged', key}: nothing is written ]]
-- @include ../includes/types.lua
for index = 1, 2 do
  if is_damaged(KEYS[index], 'hash') then return { 'damaged', KEYS[index] } end
end
local removed = redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], 's:' .. ARGV[1])
if removed == 1 then
  for _, field in ipairs(redis.call('HKEYS', KEYS[2])) do
    local other = field:match('^c:(.*)$')
    if other and other ~= ARGV[1] and redis.call('HEXISTS', KEYS[1], other) == 0 then
      redis.call('HDEL', KEYS[2], field)
    end
  end
end
return { 'ok', removed }
