-- Adds a session; above the limit, expired ones are removed first, then the oldest. Needs clock.lua.
local MAX_SESSIONS = 50

local function put_session(sessions, digest, ttl_ms, remembered)
  local live, last_end = {}, now_ms + ttl_ms
  local fields = redis.call('HGETALL', sessions)
  for at = 1, #fields, 2 do
    local opened, ends = fields[at + 1]:match('^(%d+):(%d+):')
    if tonumber(ends) <= now_ms then redis.call('HDEL', sessions, fields[at])
    else
      live[#live + 1] = { digest = fields[at], opened = tonumber(opened) }
      last_end = math.max(last_end, tonumber(ends))
    end
  end
  table.sort(live, function(one, other) return one.opened < other.opened end)
  for at = 1, #live - MAX_SESSIONS + 1 do redis.call('HDEL', sessions, live[at].digest) end
  redis.call('HSET', sessions, digest, string.format('%d:%d:%s', now_ms, now_ms + ttl_ms, remembered))
  redis.call('PEXPIREAT', sessions, string.format('%d', last_end))
end
