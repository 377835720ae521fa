#!lua
--[[ Enters a tool call as begun, or tells what is known of it. Whoever has another epoch than who began it ends it as
  unknown: no result of it is taken from then on.
  KEYS[1] entry, hash; KEYS[2] lease of the thread; KEYS[3] set of the thread's entries
  ARGV    epoch, key of the entry, hash of the arguments, ms to live
  Reply  {'new'}, {'done', outcome}, {'unknown'}, {'mismatch'}; {'fenced', reason}: nothing is written ]]
local epoch, name, args_hash, ttl_ms = unpack(ARGV)
local lease = redis.call('GET', KEYS[2])
if not lease or lease:match(':(%d+)$') ~= epoch then return { 'fenced', 'another epoch' } end
local entry = redis.call('HMGET', KEYS[1], 'args_hash', 'epoch', 'result')
if entry[1] then
  if entry[1] ~= args_hash then return { 'mismatch' } end
  if entry[3] then return { 'done', entry[3] } end
  if entry[2] ~= epoch then redis.call('HSET', KEYS[1], 'unknown', epoch) end
  return { 'unknown' }
end
redis.call('HSET', KEYS[1], 'args_hash', args_hash, 'kind', 'call', 'epoch', epoch)
redis.call('PEXPIRE', KEYS[1], ttl_ms)
redis.call('SADD', KEYS[3], name)
redis.call('PEXPIRE', KEYS[3], ttl_ms)
return { 'new' }
