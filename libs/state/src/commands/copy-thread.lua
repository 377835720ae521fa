#!lua
--[[ Makes a thread with the log, checkpoints, metadata and status of another one, without its runs and what they
  cost.
  Memory extraction looks at what is said from now on: what was said before is the other thread's.
  KEYS, ARGV  thread.lua; KEYS[15..18] record, log, checkpoints and order of the new thread; KEYS[19] its memory jobs;
              parameter target (its id)
  Reply  {'ok', new thread record}; {'taken'}, {'busy'}, {'no_thread'}, {'damaged', key}: nothing is written ]]
-- @include idle.lua
-- @include clock.lua
local refusal, record = refused_idle()
if refusal then return refusal end
if redis.call('EXISTS', unpack(KEYS, 15, 19)) > 0 then return { 'taken' } end
for index, key in ipairs({ record_key, log_key, checkpoints_key, order_key }) do
  redis.call('COPY', key, KEYS[14 + index])
end
redis.call('HSET', KEYS[15], 'created_at', now_iso, 'updated_at', now_iso, 'pruned', '')
redis.call('HDEL', KEYS[15], 'epoch')
redis.call('HSET', KEYS[19], 'floor', record.next_entry - 1)
redis.call('ZADD', threads_key, now_ms, p.target)
return { 'ok', redis.call('HGETALL', KEYS[15]) }
