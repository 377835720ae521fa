#!lua flags=allow-oom
--[[ Stores the result of an execution: reported by the manager that started it, or set for it by the one bound now.
  KEYS    start-execution.lua
  ARGV    manager that ends it instead of its starter ('' when the starter does), manager that started it, result
  Reply  {'kept', stored result}; {'fenced', reason}: nothing is written ]]
local by, started_by, result = unpack(ARGV)
if by ~= '' and redis.call('HGET', KEYS[2], 'manager') ~= by then return { 'fenced', 'another binding' } end
local entry = redis.call('HMGET', KEYS[1], 'manager', 'result', 'ended_by')
if entry[1] ~= started_by then return { 'fenced', 'started by another' } end
if entry[2] then
  if by == '' and entry[3] ~= '' then return { 'fenced', 'ended as unknown' } end
  return { 'kept', entry[2] }
end
redis.call('HSET', KEYS[1], 'result', result, 'ended_by', by)
return { 'kept', result }
