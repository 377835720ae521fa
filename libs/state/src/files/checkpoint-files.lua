#!lua flags=no-writes
--[[ Reads which files a thread had at a checkpoint.
  KEYS    the thread's files, hash (generations.lua)
  ARGV    checkpoint
  Reply  {'known', generation, work, uploads, '1' when a manager has changes of before it that are not stored}; {'none'}: there were no files yet; {'unknown'}: nobody knows which there were ]]
-- @include generations.lua
local generation = redis.call('HGET', KEYS[1], 'c:' .. ARGV[1])
local work, uploads = trees_of(KEYS[1], generation)
if work then
  local late = redis.call('HGET', KEYS[1], 'late')
  return { 'known', generation, work, uploads, late and ARGV[1] >= late and '1' or '' }
end
local head = read_files_head(KEYS[1])
return { (not head or had_no_files(head, ARGV[1])) and 'none' or 'unknown' }
