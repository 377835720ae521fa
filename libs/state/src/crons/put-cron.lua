#!lua
--[[ Creates a cron, or replaces the specification of one.
  KEYS[1..3]  record of the cron (hash), the user's crons (sorted set by time of creation), due crons of all users (sorted set)
  ARGV[1]     JSON object: id, member (of the due crons), user, due (ms, '' for none; absent: it stays), max (crons of the user), erasing (key),
              max_runs (of due times; absent: no limit), version: of the specification that is replaced; absent: a new cron
  ARGV[2]     the specification as JSON
  Reply  {'ok', record}, {'full'}, {'none'}, {'stale'}, {'used_up', runs of due times}, {'erasing'}, {'damaged', key}: nothing is written ]]
-- @include ../includes/clock.lua
-- @include ../includes/types.lua
local record_key, user_crons, due_set = KEYS[1], KEYS[2], KEYS[3]
local p = cjson.decode(ARGV[1])
for index, kind in ipairs({ 'hash', 'zset', 'zset' }) do
  if is_damaged(KEYS[index], kind) then return { 'damaged', KEYS[index] } end
end
local version = redis.call('HGET', record_key, 'version')
if p.version then
  if not version then return { 'none' } end
  if version ~= p.version then return { 'stale' } end
  local found = redis.call('HMGET', record_key, 'automatic', 'due')
  local automatic = tonumber(found[1] or 0)
  if p.max_runs and automatic >= p.max_runs and (p.due or found[2] or '') ~= '' then return { 'used_up', automatic } end
  -- The specification says from now on whether the cron is disabled.
  redis.call('HDEL', record_key, 'stopped_by')
else
  if redis.call('HEXISTS', p.erasing, p.user) == 1 then return { 'erasing' } end
  if redis.call('ZCARD', user_crons) >= p.max then return { 'full' } end
  redis.call('HSET', record_key, 'created_at', now_iso)
  redis.call('ZADD', user_crons, now_ms, p.id)
end
redis.call('HINCRBY', record_key, 'version', 1)
redis.call('HSET', record_key, 'spec', ARGV[2], 'updated_at', now_iso)
if p.due then redis.call('HSET', record_key, 'due', p.due, 'retries', '0') end
-- With a new due time, what became of an earlier one is history.
if p.due and p.due ~= '' then redis.call('HSET', record_key, 'last_error', '') end
if p.due == '' then redis.call('ZREM', due_set, p.member) elseif p.due then redis.call('ZADD', due_set, p.due, p.member) end
return { 'ok', redis.call('HGETALL', record_key) }
