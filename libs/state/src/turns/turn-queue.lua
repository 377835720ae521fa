-- The queue of threads with a run that found no free slot. Users take turns: the one with the lowest position is next, and each
-- slot that a user gets moves him back by 1 / his weight (start-time fair queueing). Needs clock.lua, types.lua. Scripts that include this
-- have as `turns`:
--   ready        key: sorted set, user → position. A user whose threads all got a slot stays until he would be next, so that
--                nobody gets further turns by queueing one thread after the other. The member '' is no user: its score is the
--                position at which others join.
--   capped       key: sorted set, users with as many running threads as they may have → ms of the next look at them
--   users        prefix of the users' keys, which no script declares:
--                <user>:waiting  sorted set: thread → time in µs since when it waits
--                <user>:running  sorted set: thread → inf while it has a current run, or the ms until which a slot that was
--                given to it counts; only written where max_running is not 0
--   max_running  maximum number of running threads of a user, 0: no limit
-- The others expire a day after their last use: an entry is a hint, and a sweep enters again what still waits.
local DAY_MS = 86400000
local function waiting_key(user) return turns.users .. user .. ':waiting' end
local function running_key(user) return turns.users .. user .. ':running' end
local function user_of(member) return member:match('^[^/]*') end

local function damaged_turns(user)
  for _, key in ipairs({ turns.ready, turns.capped, waiting_key(user), running_key(user) }) do
    if is_damaged(key, 'zset') then return key end
  end
end

local JOINING = ''

-- The user with the lowest position, and that position as text.
local function first_in_order()
  local first = redis.call('ZRANGE', turns.ready, 0, 1, 'WITHSCORES')
  local at = first[1] == JOINING and 3 or 1
  return first[at], first[at + 1]
end

-- Puts a user into the order, before those who had a slot and wait for the next one; one who is in it stays where he is.
local function join_order(user)
  local _, first = first_in_order()
  redis.call('ZADD', turns.ready, 'NX', redis.call('ZSCORE', turns.ready, JOINING) or first or 0, user)
  redis.call('PEXPIRE', turns.ready, DAY_MS)
end

local function queue_turn(user, thread)
  redis.call('ZADD', waiting_key(user), 'NX', string.format('%.0f', now_us), thread)
  redis.call('PEXPIRE', waiting_key(user), DAY_MS)
  if not redis.call('ZSCORE', turns.capped, user) then join_order(user) end
end

-- Moves a user back who gets a slot. The others join where he was, but a little later with each slot: however many there are, they do
-- not delay him for ever.
local function pass_turn(user, position, weight)
  local joining = redis.call('ZSCORE', turns.ready, JOINING)
  local users = redis.call('ZCARD', turns.ready) - (joining and 1 or 0)
  local at = math.max(joining and joining + 1 / (users + 1) or position, tonumber(position))
  redis.call('ZADD', turns.ready, string.format('%.17g', at), JOINING, string.format('%.17g', position + 1 / weight), user)
end

-- How many threads of the user run, with those that were just given a slot.
local function count_running(user)
  redis.call('ZREMRANGEBYSCORE', running_key(user), '-inf', now_ms)
  return redis.call('ZCARD', running_key(user))
end

-- A thread with a current run runs until it has none, whoever owns it: a run of a dead runner is taken over at any time.
local function enter_running(user, thread) redis.call('ZADD', running_key(user), 'inf', thread) end

-- Whether the user waited for that, and is in the order again.
local function leave_running(user, thread)
  redis.call('ZREM', running_key(user), thread)
  if redis.call('ZREM', turns.capped, user) == 0 then return false end
  join_order(user)
  return true
end
