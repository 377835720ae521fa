#!lua
--[[ Gives a free slot of a runner to the thread that is next, and removes it from the queue. Looks at a bounded number of entries.
  KEYS    pending set, ready, capped (turn-queue.lua)
  ARGV    JSON object p: users and threads (prefixes of their keys), max_running (0: no limit), weights (user → weight, where it
          is not 1), look_ms (after which a user with all his slots is looked at again), grant_ms (for how long a slot counts
          that no claim followed); or absent user and thread: one that may have something to run and that is put into the
          queue first. One whose run was interrupted gets the slot at once.
  Reply   {'turn', member of the pending set}; {'none'}; {'again'}: more entries are to be looked at;
          {'damaged', key}: of that thread's user ]]
-- @include ../includes/clock.lua
-- @include ../includes/types.lua
local pending_key = KEYS[1]
local p = cjson.decode(ARGV[1])
local turns = { ready = KEYS[2], capped = KEYS[3], users = p.users, max_running = p.max_running }
-- @include turn-queue.lua
local MAX_LOOKS, MAX_RETURNING, MAX_CHECKED = 100, 20, 20
local function record_key(user, thread) return p.threads .. user .. ':' .. thread end
local function has_run(user, thread)
  local current = redis.call('HGET', record_key(user, thread), 'current')
  return current and current ~= ''
end
local function may_be_claimed(user, thread)
  return redis.call('ZSCORE', pending_key, user .. '/' .. thread) and redis.call('EXISTS', record_key(user, thread) .. ':lease') == 0
end

if p.user then
  local damage = damaged_turns(p.user)
  if damage then return { 'damaged', damage } end
  if may_be_claimed(p.user, p.thread) then
    if has_run(p.user, p.thread) then
      redis.call('ZREM', waiting_key(p.user), p.thread)
      return { 'turn', p.user .. '/' .. p.thread }
    end
    queue_turn(p.user, p.thread)
  end
end

for _, user in ipairs(redis.call('ZRANGEBYSCORE', turns.capped, '-inf', now_ms, 'LIMIT', 0, MAX_RETURNING)) do
  redis.call('ZREM', turns.capped, user)
  join_order(user)
end

-- Entries are wrong when a run was ended by a runner without a limit, or of an earlier version: some are checked each time.
local function is_capped(user)
  if p.max_running == 0 or count_running(user) < p.max_running then return false end
  local some = redis.call('ZRANDMEMBER', running_key(user), MAX_CHECKED, 'WITHSCORES')
  for index = 1, #some, 2 do
    if some[index + 1] == 'inf' and not has_run(user, some[index]) then redis.call('ZREM', running_key(user), some[index]) end
  end
  return count_running(user) >= p.max_running
end

for _ = 1, MAX_LOOKS do
  local user, position = first_in_order()
  if not user then
    redis.call('DEL', turns.ready)
    return { 'none' }
  end
  local thread = not damaged_turns(user) and redis.call('ZRANGE', waiting_key(user), 0, 0)[1]
  if not thread then
    redis.call('ZREM', turns.ready, user)
  elseif is_capped(user) then
    redis.call('ZREM', turns.ready, user)
    redis.call('ZADD', turns.capped, now_ms + p.look_ms, user)
    redis.call('PEXPIRE', turns.capped, DAY_MS)
  else
    redis.call('ZREM', waiting_key(user), thread)
    if may_be_claimed(user, thread) then
      pass_turn(user, position, p.weights[user] or 1)
      if p.max_running > 0 then redis.call('ZADD', running_key(user), now_ms + p.grant_ms, thread) end
      return { 'turn', user .. '/' .. thread }
    end
  end
end
return { 'again' }
