#!lua flags=allow-oom
--[[ Removes the entry of a tool call that its owner began and that had no effect, so that it can begin again.
  KEYS[1] entry, hash; KEYS[2] set of the thread's entries; ARGV[1] epoch, ARGV[2] key of the entry
  Reply  {'withdrawn'}, also when there is no entry; {'fenced', reason}: nothing is written ]]
local epoch, name = unpack(ARGV)
local entry = redis.call('HMGET', KEYS[1], 'epoch', 'unknown', 'result')
if not entry[1] then return { 'withdrawn' } end
if entry[1] ~= epoch then return { 'fenced', 'begun by another' } end
if entry[2] then return { 'fenced', 'ended as unknown' } end
if entry[3] then return { 'fenced', 'it has an outcome' } end
redis.call('DEL', KEYS[1])
redis.call('SREM', KEYS[2], name)
return { 'withdrawn' }
