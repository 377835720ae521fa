#!lua flags=allow-oom
--[[ Stores a result for an execution that was never started, so that no manager starts it later.
  KEYS    the entry, set of the thread's entries
  ARGV    epoch, key of the entry, hash of the arguments, kind, result, lease of the thread, its last claim (epoch.lua)
  Reply  {'withdrawn'}; {'running', manager}, {'done', result}, {'mismatch'}, {'fenced', reason}: nothing is written ]]
-- @include epoch.lua
local epoch, name, args_hash, kind, result, lease, owner = unpack(ARGV)
if not is_owned_under(epoch, lease, owner) then return { 'fenced', 'another epoch' } end

local entry = redis.call('HMGET', KEYS[1], 'args_hash', 'manager', 'result')
if entry[1] then
  if entry[1] ~= args_hash then return { 'mismatch' } end
  if entry[3] then return { 'done', entry[3] } end
  return { 'running', entry[2] }
end
redis.call('SADD', KEYS[2], name)
redis.call('PERSIST', KEYS[2])
redis.call('HSET', KEYS[1], 'args_hash', args_hash, 'kind', kind, 'epoch', epoch, 'manager', '', 'sandbox', '',
  'result', result, 'ended_by', '')
return { 'withdrawn' }
