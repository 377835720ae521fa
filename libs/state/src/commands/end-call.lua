#!lua
--[[ Keeps the outcome of a tool call for who began it, whoever holds the thread by now.
  KEYS[1] entry, hash; KEYS[2] set of the thread's entries
  ARGV    epoch, outcome, ms to live
  Reply  {'kept'}, also when one is kept already; {'fenced', reason}: nothing is written ]]
local epoch, outcome, ttl_ms = unpack(ARGV)
local entry = redis.call('HMGET', KEYS[1], 'epoch', 'unknown', 'result')
if entry[1] ~= epoch then return { 'fenced', 'begun by another' } end
if entry[2] then return { 'fenced', 'ended as unknown' } end
if entry[3] then return { 'kept' } end
redis.call('HSET', KEYS[1], 'result', outcome)
redis.call('PEXPIRE', KEYS[1], ttl_ms)
redis.call('PEXPIRE', KEYS[2], ttl_ms)
return { 'kept' }
