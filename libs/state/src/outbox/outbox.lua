-- The outbox: events that wait for their delivery. Needs clock.lua. Scripts that include this have as `outbox`:
--   all      key: sorted set of all users, <user>/<event> → ms when it was written
--   users    key: sorted set, user → ms of the next look at his events
--   prefix   of the keys of users, which no script declares:
--            <user>:outbox          sorted set: event → ms of the next attempt, or the end of the lease of one under way
--            <user>:outbox:running  sorted set: events under way → end of the lease
--            <user>:outbox:failed   list: events that were given up, newest first
--   events   prefix of the events, completed by <user>:<event>: a hash each
--   hosts    prefix of the hosts, completed by a name: sorted set, <user>/<event> under way → end of the lease
local function waiting_key(user) return outbox.prefix .. user .. ':outbox' end
local function running_key(user) return outbox.prefix .. user .. ':outbox:running' end
local function failed_key(user) return outbox.prefix .. user .. ':outbox:failed' end
local function event_key(user, event) return outbox.events .. user .. ':' .. event end

local function count_live(key)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now_ms)
  return redis.call('ZCARD', key)
end

-- Sets when the user's events are looked at next; not before `from_ms`.
local function schedule_user(user, from_ms)
  local first = redis.call('ZRANGE', waiting_key(user), 0, 0, 'WITHSCORES')
  if not first[2] then
    redis.call('ZREM', outbox.users, user)
  else
    redis.call('ZADD', outbox.users, math.max(first[2], from_ms), user)
  end
end

local function remove_event(user, event)
  redis.call('ZREM', waiting_key(user), event)
  redis.call('ZREM', outbox.all, user .. '/' .. event)
  redis.call('UNLINK', event_key(user, event))
end
