#!lua
--[[ Queues the messages of a dead letter for memory extraction again, and removes the letter.
  KEYS, ARGV  memory-job.lua; KEYS[5..6] records, times (letters.lua); KEYS[7] the user's list of failed extractions;
              parameters id (of the letter), thread, record (key of the thread record), audit (audit-line.lua)
  Reply  {'ok'}; {'none'}: there is no such letter, {'gone'}: the thread does not exist, {'busy'}: a worker reads it now,
         {'damaged', key}: nothing is written ]]
-- @include ../memory/jobs/memory-job.lua
-- @include letters.lua
-- @include audit-line.lua
local letters = { records = KEYS[5], times = KEYS[6] }
local damage = damaged_job() or damaged_letters(letters) or is_damaged(p.record, 'hash') and p.record
  or is_damaged(KEYS[7], 'list') and KEYS[7]
if damage then return { 'damaged', damage } end
local text = redis.call('HGET', letters.records, p.id)
if not text then return { 'none' } end
local found = redis.call('HMGET', p.record, 'next_entry', 'ended')
if not found[1] or found[2] then return { 'gone' } end
if number_of('until') > now_ms then return { 'busy' } end
-- The lease of a worker that has lapsed ends with this: its outcome would move the watermark past the messages again.
release()
local after = cjson.decode(text).after
redis.call('HDEL', jobs_key, field('attempts'), field('failing_since'), field('not_before'), field('seen'))
redis.call('HSET', jobs_key, field('watermark'), math.min(after, number_of('watermark')))
redis.call('HSET', jobs_key, field('said'), string.format('%.0f', now_us), field('said_ms'), now_ms)
redis.call('ZADD', user_due_key, now_ms, p.member)
ready_at(now_ms)
for _, entry in ipairs(redis.call('LRANGE', KEYS[7], 0, -1)) do
  local dead = cjson.decode(entry)
  if dead.threadId == p.thread and dead.agent == p.agent then redis.call('LREM', KEYS[7], 0, entry) end
end
remove_letter(letters, p.id)
write_audit()
return { 'ok' }
