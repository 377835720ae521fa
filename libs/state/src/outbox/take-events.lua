#!lua
--[[ Takes events whose next attempt is due, under a lease. Users take turns: whose events were looked at longest ago is next, and
  one look takes one event of a user. An event of a host that has all its deliveries waits a moment, and others pass it.
  KEYS[1..2]  all, users (outbox.lua)
  ARGV[1]     JSON object: prefix, events, hosts (outbox.lua), limit, per_user and per_host (deliveries at once of all processes), lease_ms, token
  Reply  {ms now, ms until the next attempt or -1, {{user, event, fields}, …}} ]]
-- @include ../includes/clock.lua
-- @include ../includes/types.lua
local p = cjson.decode(ARGV[1])
local outbox = { all = KEYS[1], users = KEYS[2], prefix = p.prefix, events = p.events, hosts = p.hosts }
-- @include outbox.lua
local MAX_USERS, MAX_EVENTS, MAX_PASSES = 100, 20, 10
local SHORT_PAUSE_MS, LONG_PAUSE_MS = 25, 1000
local found = {}

local function host_key(url) return outbox.hosts .. redis.sha1hex(url:match('^%a+://([^/?#]*)') or url) end

local function lease(user, event, url)
  local ends, host = now_ms + p.lease_ms, host_key(url)
  redis.call('ZADD', waiting_key(user), ends, event)
  redis.call('ZADD', running_key(user), ends, event)
  redis.call('PEXPIRE', running_key(user), p.lease_ms)
  redis.call('ZADD', host, ends, user .. '/' .. event)
  redis.call('PEXPIRE', host, p.lease_ms)
  redis.call('HSET', event_key(user, event), 'token', p.token, 'host', host)
  found[#found + 1] = { user, event, redis.call('HGETALL', event_key(user, event)) }
end

-- How long an event waits for a host that has all its deliveries: longer when none of them has ended for a while.
local function pause_for(host)
  local newest = redis.call('ZRANGE', host, -1, -1, 'WITHSCORES')
  return newest[2] - p.lease_ms < now_ms - LONG_PAUSE_MS and LONG_PAUSE_MS or SHORT_PAUSE_MS
end

-- Takes the first event of a user that may be delivered. Returns when the user may be looked at again.
local function take_one(user)
  if count_live(running_key(user)) >= p.per_user then return now_ms + SHORT_PAUSE_MS end
  for _, event in ipairs(redis.call('ZRANGEBYSCORE', waiting_key(user), '-inf', now_ms, 'LIMIT', 0, MAX_EVENTS)) do
    local key = event_key(user, event)
    local url = not is_damaged(key, 'hash') and redis.call('HGET', key, 'url')
    if not url then
      remove_event(user, event)
    elseif count_live(host_key(url)) >= p.per_host then
      redis.call('ZADD', waiting_key(user), now_ms + pause_for(host_key(url)), event)
    else
      lease(user, event, url)
      return now_ms
    end
  end
  return now_ms
end

for _ = 1, MAX_PASSES do
  local before = #found
  for _, user in ipairs(redis.call('ZRANGEBYSCORE', outbox.users, '-inf', now_ms, 'LIMIT', 0, MAX_USERS)) do
    if #found >= p.limit then break end
    -- Behind the users that were not looked at yet.
    schedule_user(user, take_one(user))
  end
  if #found >= p.limit or #found == before then break end
end
local first = redis.call('ZRANGE', outbox.users, 0, 0, 'WITHSCORES')
return { string.format('%.0f', now_ms), first[2] and string.format('%.0f', math.max(first[2] - now_ms, 0)) or '-1', found }
