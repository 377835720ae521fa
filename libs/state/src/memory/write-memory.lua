#!lua
--[[ Replaces a memory if it still has the revision that the new document is based on.
  KEYS    memory-record.lua; ARGV[1] JSON object p: agent, expected (revision), new_era, max_changes, max_bytes;
          ARGV[2] document; ARGV[3] change
  Reply  {'ok', revision, era}; {'conflict'}, {'damaged', key}: nothing is written ]]
local p = cjson.decode(ARGV[1])
-- @include memory-record.lua
local damage = damaged_memory(1)
if damage then return { 'damaged', damage } end
if revision_of(1) ~= p.expected then return { 'conflict' } end
return { 'ok', save_memory(1, ARGV[2], ARGV[3]) }
