#!lua
--[[ Records a tool call as begun, or returns its state. The attempt that began it may repeat that. A caller with another epoch ends it as
  unknown: no result of it is accepted from then on. The entry has no deadline until finish.lua sets one.
  KEYS[1] entry, hash; KEYS[2] lease of the thread; KEYS[3] set of the thread's entries;
  KEYS[4] last claim of the thread (epoch.lua)
  ARGV    epoch, key of the entry, hash of the arguments, attempt of the epoch
  Reply  {'new'}, {'done', outcome}, {'unknown'}, {'mismatch'}; {'fenced', reason}: nothing is written ]]
-- @include epoch.lua
local epoch, name, args_hash, attempt = unpack(ARGV)
if not is_owned_under(epoch, KEYS[2], KEYS[4]) then return { 'fenced', 'another epoch' } end
local entry = redis.call('HMGET', KEYS[1], 'args_hash', 'epoch', 'result', 'attempt')
if entry[1] then
  if entry[1] ~= args_hash then return { 'mismatch' } end
  if entry[3] then return { 'done', entry[3] } end
  if entry[2] == epoch and entry[4] == attempt then return { 'new' } end
  if entry[2] ~= epoch then redis.call('HSET', KEYS[1], 'unknown', epoch) end
  return { 'unknown' }
end
redis.call('HSET', KEYS[1], 'args_hash', args_hash, 'kind', 'call', 'epoch', epoch, 'attempt', attempt)
redis.call('SADD', KEYS[3], name)
redis.call('PERSIST', KEYS[3])
return { 'new' }
