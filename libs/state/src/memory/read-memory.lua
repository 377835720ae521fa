#!lua flags=no-writes
--[[ Reads a memory.
  KEYS[1] record
  Reply  {'none'}; {'found', document, revision, era}, false for absent fields; {'foreign', type} ]]
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then return { 'none' } end
if kind ~= 'hash' then return { 'foreign', kind } end
return { 'found', unpack(redis.call('HMGET', KEYS[1], 'document', 'revision', 'era')) }
