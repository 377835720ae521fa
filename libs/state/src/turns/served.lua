-- Users in turn: when each was given work last, in a sorted set of users by microseconds. One who was given none for an hour counts as one
-- who never was. Users are hashes, so that the set names nobody who was deleted. Needs clock.lua.
local REMEMBERED_MS = 3600 * 1000
local REMEMBERED_US = REMEMBERED_MS * 1000

local function served_name(user) return redis.sha1hex(user) end

-- Returns a function that says when a user was given work last, 0 for never; it asks once for each user.
local function served_times(key)
  local known = {}
  return function(user)
    if not known[user] then
      local at = tonumber(redis.call('ZSCORE', key, served_name(user)) or 0)
      known[user] = at > now_us - REMEMBERED_US and at or 0
    end
    return known[user]
  end
end

local function note_served(key, user)
  redis.call('ZADD', key, string.format('%d', now_us), served_name(user))
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%d', now_us - REMEMBERED_US))
  redis.call('PEXPIRE', key, REMEMBERED_MS)
end
