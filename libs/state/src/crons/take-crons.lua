#!lua
--[[ Takes crons that are due, the longest due first. For the time of a lease no other process gets them; whether a due time
  starts a run is decided by the admission (cron-due.lua), so a lease that lapses only costs work.
  KEYS[1]  due crons of all users, <user>/<cron> → ms of the next look
  ARGV     prefix of the records, completed by <user>:<cron>; limit; limit of one user; lease_ms
  Reply  {ms now, ms until the next one is due or -1, {{member, record}, …}}; the record of a key of a foreign type is empty ]]
-- @include ../includes/clock.lua
-- @include ../includes/types.lua
local prefix, limit, per_user, lease_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
-- How many entries one look reads, so that one user with many crons does not hide those of others.
local MAX_LOOKED_AT = 1000
local found, taken = {}, {}
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now_ms, 'LIMIT', 0, MAX_LOOKED_AT)) do
  if #found >= limit then break end
  local user, cron = member:match('^([^/]+)/(.+)$')
  local count = taken[user] or 0
  if count < per_user then
    local key = prefix .. user .. ':' .. cron
    local damaged = is_damaged(key, 'hash')
    local record = damaged and {} or redis.call('HGETALL', key)
    if #record == 0 and not damaged then
      redis.call('ZREM', KEYS[1], member)
    else
      taken[user] = count + 1
      redis.call('ZADD', KEYS[1], now_ms + lease_ms, member)
      found[#found + 1] = { member, record }
    end
  end
end
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return { string.format('%.0f', now_ms), first[2] and string.format('%.0f', math.max(first[2] - now_ms, 0)) or '-1', found }
