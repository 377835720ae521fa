#!lua flags=allow-oom
--[[ Enters the outcome of an attempt.
  KEYS[1..2]  all, users (outbox.lua)
  ARGV[1]     JSON object: prefix, events, hosts (outbox.lua), user, event, token, outcome ('delivered', 'retry', 'failed'), error,
              delay_ms (until the next attempt), max_age_ms (after which an event is given up), max_failed (length of the list),
              letters (letters.lua), letter (id)
  Reply  {'delivered'}, {'retry'}, {'failed'}; {'lost'}: the lease is another's, {'damaged', key}: nothing is written ]]
-- @include ../includes/clock.lua
-- @include ../includes/types.lua
-- @include ../letters/letters.lua
local p = cjson.decode(ARGV[1])
local outbox = { all = KEYS[1], users = KEYS[2], prefix = p.prefix, events = p.events, hosts = p.hosts }
-- @include outbox.lua
local user, event = p.user, p.event
local key = event_key(user, event)
local found = redis.call('HMGET', key, 'token', 'created', 'attempts', 'host', 'url', 'thread_id', 'status', 'ended_at')
if found[1] ~= p.token then return { 'lost' } end
local damage = damaged_letters(p.letters)
if damage then return { 'damaged', damage } end

-- Records the event as a dead letter with all that its delivery needs but the body, which is made again.
local function give_up(attempts)
  local rest = redis.call('HMGET', key, 'assistant_id', 'created_at', 'started')
  add_letter(p.letters, p.letter, cjson.encode({
    kind = 'webhook', user_id = user, thread_id = found[6], run_id = event, reason = p.error,
    detail = cjson.encode({ status = found[7], ended_at = found[8], attempts = attempts }),
    event = { url = found[5], thread_id = found[6], status = found[7], ended_at = found[8],
      assistant_id = rest[1] or '', created_at = rest[2] or '', started = rest[3] or '' },
  }))
end
redis.call('ZREM', running_key(user), event)
redis.call('ZREM', found[4], user .. '/' .. event)
local outcome, attempts = p.outcome, tonumber(found[3]) + 1
if outcome == 'retry' and now_ms + p.delay_ms - tonumber(found[2]) > p.max_age_ms then outcome = 'failed' end
if outcome == 'retry' then
  redis.call('HSET', key, 'attempts', attempts, 'error', p.error, 'token', '')
  redis.call('ZADD', waiting_key(user), now_ms + p.delay_ms, event)
else
  if outcome == 'failed' then
    redis.call('LPUSH', failed_key(user), cjson.encode({ event_id = event, url = found[5], thread_id = found[6], status = found[7],
      ended_at = found[8], attempts = attempts, error = p.error, failed_at = iso(now_ms) }))
    redis.call('LTRIM', failed_key(user), 0, p.max_failed - 1)
    give_up(attempts)
  end
  remove_event(user, event)
end
schedule_user(user, now_ms)
return { outcome }
