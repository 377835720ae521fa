#!lua flags=allow-oom
--[[ Ends the extraction of a thread's messages so far, and adds a dead letter to the user's list and to those of all users.
  KEYS, ARGV  memory-job.lua; KEYS[5] the user's list of failed extractions; KEYS[6..7] records, times (letters.lua); parameters
              said, watermark, more, user, thread, reason, max_dead, letter (id), max_letters; ARGV[2] marks of the messages
  Reply  {'ok'}; {'fenced'}, {'damaged', key}: nothing is written ]]
-- @include memory-job.lua
-- @include ../../letters/letters.lua
local letters = { records = KEYS[6], times = KEYS[7], max = p.max_letters }
local refusal = refused_job() or is_damaged(KEYS[5], 'list') and { 'damaged', KEYS[5] }
if refusal then return refusal end
local damage = damaged_letters(letters)
if damage then return { 'damaged', damage } end
-- An earlier letter of the thread is joined with this one, which is then about the messages of both.
local after, earlier = number_of('watermark'), redis.call('HGET', letters.records, p.letter)
if earlier then after = math.min(after, cjson.decode(earlier).after) end
add_letter(letters, p.letter, cjson.encode({
  kind = 'memory', user_id = p.user, thread_id = p.thread, agent = p.agent, reason = p.reason, after = after,
  detail = cjson.encode({ after_entry = after, to_entry = p.watermark, attempts = number_of('attempts') + 1 }),
}))
redis.call('LPUSH', KEYS[5], cjson.encode({ threadId = p.thread, agent = p.agent, at = now_iso, reason = p.reason }))
redis.call('LTRIM', KEYS[5], 0, p.max_dead - 1)
settle_job()
return { 'ok' }
