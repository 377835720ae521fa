-- Needs generations.lua, clock.lua.
-- Gives a new thread the files of another one of the user, with the generations of its checkpoints: as they are, or as they were at an
-- older checkpoint `at` ('' for the head). `home` is new; `filed` is the user's sorted set of threads with files. Returns how many files the
-- new thread has, as of the last commit of the other one when `at` is older.
local function copy_files(from, to, at, home, filed, new_id)
  local source = read_files_head(from)
  if not source then return 0 end
  local work, uploads = source.work, source.uploads
  if at ~= '' then
    local generation = redis.call('HGET', from, 'c:' .. at)
    if generation then work, uploads = trees_of(from, generation)
    elseif had_no_files(source, at) then return 0 end
  end
  redis.call('COPY', from, to)
  local dropped = { 'unpublished', 'before', 'late' }
  -- What was lost since is no matter of an older point.
  if at ~= '' then dropped[#dropped + 1] = 'lost' end
  for _, field in ipairs(redis.call('HKEYS', to)) do
    local checkpoint = field:match('^c:(.+)$')
    if checkpoint and at ~= '' and checkpoint > at then dropped[#dropped + 1] = field end
  end
  for first = 1, #dropped, 1000 do redis.call('HDEL', to, unpack(dropped, first, math.min(first + 999, #dropped))) end
  redis.call('HSET', to, 'home', home, 'reset_at', '0')
  set_generation(to, string.format('%.0f', source.generation + 1), work, uploads)
  redis.call('ZADD', filed, now_ms, new_id)
  return work == '' and uploads == '' and 0 or tonumber(source.files)
end
