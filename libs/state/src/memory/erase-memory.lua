#!lua flags=allow-oom
--[[ Removes the memories of a user's agents, and the records of extractions.
  KEYS[1] due; KEYS[2] user's due; KEYS[3] running; KEYS[4] failed extractions; KEYS[5] agents; then further keys to remove
  ARGV    the agents whose keys are given
  Reply  {'ok', number of remaining agents}; {'damaged', key}: nothing is written ]]
-- @include ../includes/types.lua
for index, kind in ipairs({ 'zset', 'zset', 'zset', 'list', 'set' }) do
  if is_damaged(KEYS[index], kind) then return { 'damaged', KEYS[index] } end
end
for _, member in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do redis.call('ZREM', KEYS[1], member) end
redis.call('UNLINK', unpack(KEYS, 2, 4))
for at = 6, #KEYS do redis.call('UNLINK', KEYS[at]) end
for _, agent in ipairs(ARGV) do redis.call('SREM', KEYS[5], agent) end
return { 'ok', redis.call('SCARD', KEYS[5]) }
