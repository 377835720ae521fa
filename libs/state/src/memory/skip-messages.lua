#!lua flags=allow-oom
--[[ Removes threads from the memory queue, so that their messages so far are never extracted, and ends extractions from them.
  KEYS[1] due; KEYS[2] user's due; KEYS[3] running; then of each thread its record and its jobs (memory-job.lua)
  ARGV    the member of each thread without its agent
  Reply  {'ok'}; {'damaged', key}: nothing is written ]]
-- @include ../includes/types.lua
for at = 1, #KEYS do
  local kind = at > 3 and 'hash' or 'zset'
  if is_damaged(KEYS[at], kind) then return { 'damaged', KEYS[at] } end
end
for index, member in ipairs(ARGV) do
  local record_key, jobs_key = KEYS[2 + 2 * index], KEYS[3 + 2 * index]
  for _, field in ipairs(redis.call('HKEYS', jobs_key)) do
    local agent = field:match('^said:(.*)$')
    for at = 1, agent and 3 or 0 do redis.call('ZREM', KEYS[at], member .. '/' .. agent) end
  end
  redis.call('DEL', jobs_key)
  local next_entry = redis.call('HGET', record_key, 'next_entry')
  if next_entry then redis.call('HSET', jobs_key, 'floor', next_entry - 1) end
end
return { 'ok' }
