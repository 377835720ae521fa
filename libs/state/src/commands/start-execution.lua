#!lua
--[[ Enters an execution as started, or tells what is known of it.
  KEYS[1] entry, hash; KEYS[2] lease of the thread; KEYS[3] its sandbox binding; KEYS[4] set of the thread's entries
  ARGV    1 to write, epoch, manager, sandbox, key of the entry, hash of the arguments, kind, ms to live
  Reply  {'new'}, {'running', manager}, {'done', result}, {'mismatch'}; {'fenced', reason}: nothing is written ]]
local write, epoch, manager, sandbox, name, args_hash, kind, ttl_ms = unpack(ARGV)
local lease = redis.call('GET', KEYS[2])
if not lease or lease:match(':(%d+)$') ~= epoch then return { 'fenced', 'another epoch' } end
local bound = redis.call('HMGET', KEYS[3], 'manager', 'sandbox')
if bound[1] ~= manager or bound[2] ~= sandbox then return { 'fenced', 'another binding' } end

local entry = redis.call('HMGET', KEYS[1], 'args_hash', 'manager', 'result')
if entry[1] then
  if entry[1] ~= args_hash then return { 'mismatch' } end
  if entry[3] then return { 'done', entry[3] } end
  return { 'running', entry[2] }
end
if write == '1' then
  redis.call('SADD', KEYS[4], name)
  redis.call('PEXPIRE', KEYS[4], ttl_ms)
  redis.call('HSET', KEYS[1], 'args_hash', args_hash, 'kind', kind, 'epoch', epoch, 'manager', manager, 'sandbox', sandbox)
  redis.call('PEXPIRE', KEYS[1], ttl_ms)
end
return { 'new' }
