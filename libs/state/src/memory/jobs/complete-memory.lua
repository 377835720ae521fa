#!lua
--[[ Stores what was extracted from a thread and how far it was read, in one step.
  KEYS, ARGV  memory-job.lua; KEYS[5..11] and parameters of memory-record.lua; parameters said, watermark, more,
              expected (revision of the memory; absent when it does not change); ARGV[2] marks of the messages,
              ARGV[3] document, ARGV[4] change
  Reply  {'ok'}; {'fenced'}, {'conflict'}: the memory has changed, {'damaged', key}: nothing is written ]]
-- @include memory-job.lua
-- @include ../memory-record.lua
local refusal = refused_job()
if refusal then return refusal end
if p.expected then
  local damage = damaged_memory(5)
  if damage then return { 'damaged', damage } end
  if revision_of(5) ~= p.expected then return { 'conflict' } end
  save_memory(5, ARGV[3], ARGV[4])
end
settle_job()
return { 'ok' }
