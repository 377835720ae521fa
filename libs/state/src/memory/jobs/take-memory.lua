#!lua
--[[ Acquires the lease of a job that is ready and that no other worker has.
  KEYS, ARGV  memory-job.lua, KEYS[5] users by when a job of theirs was taken; parameters owner, lease_ms, record: key of the thread record, which workers may only read; those
              of processes.lua
  Reply  {'taken', epoch, said, watermark, last entry, attempts, ms since the first failure (0: none), seen};
         {'later'}; {'gone'}: the thread does not exist; {'damaged', key} ]]
-- @include memory-job.lua
-- @include ../../includes/processes.lua
-- @include ../../turns/served.lua
local damage = damaged_job() or is_damaged(p.record, 'hash') and p.record
if damage then return { 'damaged', damage } end
local score = redis.call('ZSCORE', due_key, p.member)
if not score then return { 'gone' } end
local is_orphan = has_died(redis.call('HGET', jobs_key, field('lease')))
if score + p.debounce_ms > now_ms and not is_orphan then return { 'later' } end

local record = redis.call('HMGET', p.record, 'next_entry', 'ended')
if not record[1] or record[2] then
  for at = 1, 3 do redis.call('ZREM', KEYS[at], p.member) end
  redis.call('DEL', jobs_key)
  return { 'gone' }
end
local held_until = is_orphan and 0 or math.max(number_of('until'), number_of('not_before'))
if held_until > now_ms then
  ready_at(held_until)
  return { 'later' }
end

take_process_lease()
local epoch = redis.call('HINCRBY', jobs_key, field('epoch'), 1)
local lease_end = now_ms + p.lease_ms
redis.call('HSET', jobs_key, field('lease'), p.owner .. ':' .. epoch, field('until'), lease_end)
redis.call('ZADD', running_key, lease_end, p.member)
note_served(KEYS[5], p.member:match('^[^/]*'))
ready_at(lease_end)
local watermark = math.max(number_of('watermark'), tonumber(redis.call('HGET', jobs_key, 'floor') or 0))
local failing_since = number_of('failing_since')
return { 'taken', epoch, number_of('said'), watermark, record[1] - 1, number_of('attempts'),
  failing_since > 0 and math.max(now_ms - failing_since, 1) or 0, redis.call('HGET', jobs_key, field('seen')) or '' }
