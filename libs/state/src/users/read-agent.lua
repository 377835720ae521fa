#!lua flags=no-writes
--[[ Reads a custom agent.
  KEYS[1], KEYS[2] agents, souls (AgentKeys in keys.ts)
  ARGV    name
  Reply  {record, soul}; nil when there is none ]]
local record = redis.call('HGET', KEYS[1], ARGV[1])
if not record then return false end
return { record, redis.call('HGET', KEYS[2], 's:' .. ARGV[1]) or '' }
