#!lua
--[[ Gives a thread without files those of another thread of the user, with the generations of its checkpoints.
  KEYS    files of the source, files of the target, hashes (generations.lua); threads of the user with files, sorted set
  ARGV    checkpoint whose files become the head ('' for the head), new home, id of the target
  Reply  {'ok', head}, {'none'}: the source has no files; {'taken'}: the target has; nothing is written ]]
-- @include ../includes/clock.lua
-- @include generations.lua
-- @include head-reply.lua
local at, home, target = unpack(ARGV)
local source = read_files_head(KEYS[1])
if not source then return { 'none' } end
if redis.call('EXISTS', KEYS[2]) == 1 then return { 'taken' } end
local work, uploads = source.work, source.uploads
if at ~= '' then
  local generation = redis.call('HGET', KEYS[1], 'c:' .. at)
  if generation then work, uploads = trees_of(KEYS[1], generation)
  elseif had_no_files(source, at) then return { 'none' } end
end
redis.call('COPY', KEYS[1], KEYS[2])
local fields = redis.call('HKEYS', KEYS[2])
for _, field in ipairs(fields) do
  local checkpoint = field:match('^c:(.+)$')
  if checkpoint and at ~= '' and checkpoint > at then redis.call('HDEL', KEYS[2], field) end
end
redis.call('HDEL', KEYS[2], 'unpublished')
redis.call('HSET', KEYS[2], 'home', home, 'reset_at', '0')
set_generation(KEYS[2], string.format('%.0f', source.generation + 1), work, uploads)
redis.call('ZADD', KEYS[3], now_ms, target)
return { 'ok', head_list(read_files_head(KEYS[2])) }
