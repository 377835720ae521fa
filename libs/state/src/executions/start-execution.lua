#!lua
--[[ Records an execution as started, or returns its state. The entry has no deadline until finish.lua sets one.
  KEYS[1] entry, hash; KEYS[2] sandbox binding of the thread; KEYS[3] set of its entries
  ARGV    1 to write, epoch, manager, sandbox, key of the entry, hash of the arguments, kind; keys of the thread's lease
          and of its last claim (epoch.lua), which managers may only read
  Reply  {'new'}, {'running', manager}, {'done', result}, {'mismatch'}; {'fenced', reason}: nothing is written ]]
-- @include epoch.lua
local write, epoch, manager, sandbox, name, args_hash, kind = unpack(ARGV)
if not is_owned_under(epoch, ARGV[8], ARGV[9]) then return { 'fenced', 'another epoch' } end
local bound = redis.call('HMGET', KEYS[2], 'manager', 'sandbox')
if bound[1] ~= manager or bound[2] ~= sandbox then return { 'fenced', 'another binding' } end

local entry = redis.call('HMGET', KEYS[1], 'args_hash', 'manager', 'result')
if entry[1] then
  if entry[1] ~= args_hash then return { 'mismatch' } end
  if entry[3] then return { 'done', entry[3] } end
  return { 'running', entry[2] }
end
if write == '1' then
  redis.call('SADD', KEYS[3], name)
  redis.call('PERSIST', KEYS[3])
  redis.call('HSET', KEYS[1], 'args_hash', args_hash, 'kind', kind, 'epoch', epoch, 'manager', manager, 'sandbox', sandbox)
end
return { 'new' }
