#!lua flags=allow-oom
--[[ Removes the memory of one agent. Messages to it so far are excluded from extraction, and its running extractions end.
  KEYS[1] due; KEYS[2] user's due; KEYS[3] running; KEYS[4..10] the memory (memory-record.lua); then of each thread with
          such messages its record and its jobs (memory-job.lua)
  ARGV    agent, then the member of each thread
  Reply  {'ok'}; {'damaged', key}: nothing is written ]]
-- @include ../includes/types.lua
local agent = ARGV[1]
local kinds = { 'zset', 'zset', 'zset', [6] = 'set' }
for at = 1, #KEYS do
  local kind = at > 10 and 'hash' or kinds[at]
  if kind and is_damaged(KEYS[at], kind) then return { 'damaged', KEYS[at] } end
end
for at = 4, 10 do
  if at ~= 6 then redis.call('UNLINK', KEYS[at]) end
end
redis.call('SREM', KEYS[6], agent)
for index = 2, #ARGV do
  local record_key, jobs_key = KEYS[7 + 2 * index], KEYS[8 + 2 * index]
  for at = 1, 3 do redis.call('ZREM', KEYS[at], ARGV[index]) end
  for _, name in ipairs({ 'said', 'said_ms', 'lease', 'until', 'attempts', 'failing_since', 'not_before' }) do
    redis.call('HDEL', jobs_key, name .. ':' .. agent)
  end
  local next_entry = redis.call('HGET', record_key, 'next_entry')
  if next_entry then redis.call('HSET', jobs_key, 'watermark:' .. agent, next_entry - 1) end
end
return { 'ok' }
