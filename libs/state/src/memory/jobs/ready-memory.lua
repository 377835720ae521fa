#!lua flags=no-writes
--[[ Lists jobs that may be ready: first those of the users with the fewest jobs under way, of equal ones those of the user of whom a job was
  taken longest ago, then the longest waiting.
  KEYS[1] due; KEYS[2] users by when a job of theirs was taken; ARGV debounce in ms, maximum number of jobs, maximum number of entries that are read, prefix of the users' keys
          <user>:memory:running (sorted set: the user's jobs that a worker has, by the end of its lease)
  Reply  {number of jobs, ms until the next further one is ready, -1 when there is none, members…} ]]
-- @include ../../includes/clock.lua
-- @include ../../turns/served.lua
local quiet, limit, max_read, users = now_ms - ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local PAGE = 200

-- How many jobs of a user are under way, with those that are listed already.
local busy = {}
local function jobs_of(user)
  busy[user] = busy[user] or redis.call('ZCOUNT', users .. user .. ':memory:running', '(' .. now_ms, '+inf')
  return busy[user]
end

-- The oldest jobs come first, so as many of users without a job under way, of whom none was taken yet, as are asked for end the search.
local found, fresh, listed, last_of = {}, 0, {}, served_times(KEYS[2])
local function add(member)
  local user = member:match('^[^/]*')
  listed[user] = (listed[user] or 0) + 1
  if listed[user] > limit then return end
  local rank, last = jobs_of(user), last_of(user)
  if rank == 0 and last == 0 then fresh = fresh + 1 end
  busy[user] = rank + 1
  found[#found + 1] = { member = member, rank = rank, last = last, at = #found }
end
for from = 0, max_read - 1, PAGE do
  local page = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', quiet, 'LIMIT', from, PAGE)
  for _, member in ipairs(page) do
    if fresh < limit then add(member) end
  end
  if #page < PAGE or fresh >= limit then break end
end
table.sort(found, function(one, other)
  if one.rank ~= other.rank then return one.rank < other.rank end
  if one.last ~= other.last then return one.last < other.last end
  return one.at < other.at
end)

local next_one = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. quiet, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
local reply = { redis.call('ZCARD', KEYS[1]), next_one[2] and math.ceil(next_one[2] - quiet) or -1 }
for index = 1, math.min(limit, #found) do reply[#reply + 1] = found[index].member end
return reply
