-- Messages that clients gave to a run under way and that wait to join it, oldest first: a list of texts
-- `<run id>:<sha1 of the message's id>:<message as JSON>`. The run is the one they were given to. The thread's record has their
-- number as `steering`, absent for none, so that a commit asks for the list only when there are some. Needs thread.lua.
local steering_key = record_key .. ':steering'

local function count_waiting(record) return tonumber(record and record.steering) or 0 end

-- The texts of the list; nil for none.
local function waiting_texts(record)
  if count_waiting(record) == 0 then return nil end
  return redis.call('LRANGE', steering_key, 0, -1)
end

local function set_waiting(record, count)
  record.steering = count > 0 and count or nil
  if count > 0 then
    redis.call('HSET', record_key, 'steering', count)
  else
    redis.call('HDEL', record_key, 'steering')
    redis.call('DEL', steering_key)
  end
end

-- Removes the oldest p.joined messages, which are part of the checkpoint that is written. Appends the changed fields of the
-- run's record. Only the owner of the thread removes messages while it has one.
-- @rare
local function remove_joined(record, run, fields)
  if not p.joined then return end
  redis.call('LTRIM', steering_key, p.joined, -1)
  set_waiting(record, math.max(count_waiting(record) - p.joined, 0))
  append_to(fields, 'steered', (tonumber(run.steered) or 0) + p.joined)
end

-- Removes the messages that wait for a run which is rolled back.
-- @rare
local function forget_waiting(record, run_id)
  local texts = waiting_texts(record)
  if not texts then return end
  local others = {}
  for _, text in ipairs(texts) do
    if text:sub(1, #run_id + 1) ~= run_id .. ':' then others[#others + 1] = text end
  end
  if #others == #texts then return end
  redis.call('DEL', steering_key)
  if #others > 0 then redis.call('RPUSH', steering_key, unpack(others)) end
  set_waiting(record, #others)
end
