#!lua
--[[ Acquires a slot for the next task.
  KEYS[1] pending set; KEYS[2] slots, by the end of their lease; KEYS[3] tokens of the slots; KEYS[4] users by when they got a slot
  ARGV    token (as an owner of processes.lua), ms of the lease, maximum number of concurrent tasks, of those of one user, and
          of pending tasks read; JSON: parameters of processes.lua
  Reply  {'slot', member of the pending set}; {'none'} ]]
-- @include ../includes/clock.lua
local token, lease_ms = ARGV[1], tonumber(ARGV[2])
local max_running, max_per_user, max_scanned = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local p = cjson.decode(ARGV[6])
-- @include ../includes/processes.lua
-- @include ../turns/served.lua
local PAGE = 200
local function user_of(member) return member:match('^[^/]*') end
local function is_held(lease_end, owner)
  if lease_end > now_ms then return not has_died(owner) end
  return may_return(owner, lease_ms)
end

-- Slots of tasks that ended are free; those without a lease, and those of dead processes, are of tasks whose pool died.
local held, orphans, running, total = {}, {}, {}, 0
local slots = redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES')
for index = 1, #slots, 2 do
  local member = slots[index]
  if not redis.call('ZSCORE', KEYS[1], member) then
    redis.call('ZREM', KEYS[2], member)
    redis.call('HDEL', KEYS[3], member)
  elseif is_held(tonumber(slots[index + 1]), redis.call('HGET', KEYS[3], member)) then
    held[member] = true
    -- More than a whole lease is left when the clock went back: a dead pool would block the slot for that much longer.
    if tonumber(slots[index + 1]) > now_ms + lease_ms then redis.call('ZADD', KEYS[2], now_ms + lease_ms, member) end
    total = total + 1
    running[user_of(member)] = (running[user_of(member)] or 0) + 1
  else
    held[member] = true
    orphans[#orphans + 1] = member
  end
end
if total >= max_running then return { 'none' } end

local function running_of(member) return running[user_of(member)] or 0 end

local function next_orphan()
  for _, member in ipairs(orphans) do
    if running_of(member) < max_per_user then return member end
  end
end

-- The oldest task of the user with the fewest running ones; of equal users, of the one who got a slot longest ago. A user who has none and
-- never had one ends the search.
local function next_waiting()
  local best, fewest, longest_ago = nil, max_per_user, 0
  local seen, last_of = {}, served_times(KEYS[4])
  for from = 0, max_scanned - 1, PAGE do
    local page = redis.call('ZRANGE', KEYS[1], from, from + PAGE - 1)
    for _, member in ipairs(page) do
      local user = user_of(member)
      if not held[member] and not seen[user] then
        seen[user] = true
        local count, last = running[user] or 0, last_of(user)
        if count < fewest or (best and count == fewest and last < longest_ago) then
          best, fewest, longest_ago = member, count, last
          if fewest == 0 and longest_ago == 0 then return best end
        end
      end
    end
    if #page < PAGE then break end
  end
  return best
end

local member = next_orphan() or next_waiting()
if not member then return { 'none' } end
take_process_lease()
redis.call('ZADD', KEYS[2], now_ms + lease_ms, member)
redis.call('HSET', KEYS[3], member, token)
note_served(KEYS[4], user_of(member))
return { 'slot', member }
