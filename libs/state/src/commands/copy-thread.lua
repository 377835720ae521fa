#!lua
--[[ Makes a thread with the log, checkpoints, metadata and status of another one, without its runs and what they
  cost.
  Memory extraction looks at what is said from now on: what was said before is the other thread's.
  KEYS, ARGV  thread.lua; KEYS[16..20] record, log, checkpoints, order and feed of the new thread; KEYS[21] its memory
              jobs;
              parameter target (its id)
  Reply  {'ok', new thread record}; {'taken'}, {'busy'}, {'no_thread'}, {'damaged', key}: nothing is written ]]
-- @include idle.lua
-- @include clock.lua
local refusal, record = refused_idle()
if refusal then return refusal end
if redis.call('EXISTS', unpack(KEYS, 16, 21)) > 0 then return { 'taken' } end
for index, key in ipairs({ record_key, log_key, checkpoints_key, order_key, feed_key }) do
  redis.call('COPY', key, KEYS[15 + index])
end
redis.call('HSET', KEYS[16], 'created_at', now_iso, 'updated_at', now_iso, 'pruned', '')
redis.call('HDEL', KEYS[16], 'epoch')
redis.call('HSET', KEYS[21], 'floor', record.next_entry - 1)
redis.call('ZADD', threads_key, now_ms, p.target)
return { 'ok', redis.call('HGETALL', KEYS[16]) }
