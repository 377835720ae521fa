-- Shared by every script on a thread's extraction. Only `release` and `settle_job` write.
--   KEYS[1..4]  due (of all users: member → since when it counts as quiet), user's due, running, jobs, in the order of
--               MemoryJobKeys (keys.ts)
--   ARGV[1]     JSON object p: member, agent, debounce_ms, and for the holder of a lease owner, epoch
-- Fields of jobs, each with `:<agent>`: said (another number after each turn that added messages), said_ms (when the last one did), watermark, seen (marks
-- of messages), lease (owner:epoch), until (ms), epoch, attempts, failing_since (ms), not_before (ms). `floor` without
-- an agent: entries up to it are excluded from extraction.
-- A job is ready when its score in due, plus the debounce time, is over; a claim or a delay moves the score, so that the
-- job is checked again just then.
local p = cjson.decode(ARGV[1])
-- @include ../../includes/types.lua
-- @include ../../includes/clock.lua
local due_key, user_due_key, running_key, jobs_key = unpack(KEYS, 1, 4)

local function damaged_job()
  for index, kind in ipairs({ 'zset', 'zset', 'zset', 'hash' }) do
    if is_damaged(KEYS[index], kind) then return KEYS[index] end
  end
end

local function field(name) return name .. ':' .. p.agent end
local function number_of(name) return tonumber(redis.call('HGET', jobs_key, field(name)) or 0) end
local function ready_at(ms) redis.call('ZADD', due_key, string.format('%.0f', ms - p.debounce_ms), p.member) end

-- Checks for damage, then the fence, which an absent lease fails; returns the refusal, or nil.
local function refused_job()
  local damage = damaged_job()
  if damage then return { 'damaged', damage } end
  if redis.call('HGET', jobs_key, field('lease')) ~= p.owner .. ':' .. p.epoch then return { 'fenced' } end
end

local function release()
  redis.call('HDEL', jobs_key, field('lease'), field('until'))
  redis.call('ZREM', running_key, p.member)
end

-- Ends the lease of a job that was read up to p.watermark, and removes it from due unless messages were added since it was
-- taken (p.said), or there is more to read at once (p.more). ARGV[2]: marks of the messages.
local function settle_job()
  release()
  redis.call('HDEL', jobs_key, field('attempts'), field('failing_since'), field('not_before'))
  redis.call('HSET', jobs_key, field('watermark'), math.max(p.watermark, number_of('watermark')), field('seen'), ARGV[2])
  if p.more then
    ready_at(now_ms)
  elseif number_of('said') ~= p.said then
    redis.call('ZADD', due_key, number_of('said_ms'), p.member)
  else
    redis.call('ZREM', due_key, p.member)
    redis.call('ZREM', user_due_key, p.member)
  end
end
