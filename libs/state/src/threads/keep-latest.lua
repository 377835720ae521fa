#!lua flags=allow-oom
--[[ Removes all checkpoints of a thread but its head, also those that ended runs began with. Messages and values that only they
  had are freed by later commits.
  KEYS, ARGV  thread.lua; no parameters
  Reply  {'ok', how many}; {'busy'}, {'no_thread'}, {'damaged', key}: nothing is written ]]
-- @include ../includes/idle.lua
local refusal, record = refused_idle()
if refusal then return refusal end
local removed = 0
for _, id in ipairs(redis.call('ZRANGE', order_key, 0, -1)) do
  if id ~= record.head then
    redis.call('HDEL', checkpoints_key, id)
    redis.call('HDEL', bases_key, id)
    redis.call('ZREM', order_key, id)
    if p.files then redis.call('HDEL', record_key .. ':files', 'c:' .. id) end
    removed = removed + 1
  end
end
return { 'ok', removed }
