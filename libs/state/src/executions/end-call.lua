#!lua flags=allow-oom
--[[ Stores the outcome of a tool call for the owner that began it, even if another owner has the thread now.
  KEYS[1] entry, hash; ARGV[1] epoch, ARGV[2] outcome
  Reply  {'kept'}, also when one is stored already; {'fenced', reason}: nothing is written ]]
local epoch, outcome = unpack(ARGV)
local entry = redis.call('HMGET', KEYS[1], 'epoch', 'unknown', 'result')
if entry[1] ~= epoch then return { 'fenced', 'begun by another' } end
if entry[2] then return { 'fenced', 'ended as unknown' } end
if entry[3] then return { 'kept' } end
redis.call('HSET', KEYS[1], 'result', outcome)
return { 'kept' }
