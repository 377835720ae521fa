#!lua flags=allow-oom
--[[ Ends the extraction of a thread's messages so far, and adds a dead letter to the user's list.
  KEYS, ARGV  memory-job.lua; KEYS[5] the user's list of failed extractions; parameters said, watermark, more, thread,
              reason, max_dead; ARGV[2] marks of the messages
  Reply  {'ok'}; {'fenced'}, {'damaged', key}: nothing is written ]]
-- @include memory-job.lua
local refusal = refused_job() or is_damaged(KEYS[5], 'list') and { 'damaged', KEYS[5] }
if refusal then return refusal end
redis.call('LPUSH', KEYS[5], cjson.encode({ threadId = p.thread, agent = p.agent, at = now_iso, reason = p.reason }))
redis.call('LTRIM', KEYS[5], 0, p.max_dead - 1)
settle_job()
return { 'ok' }
