-- What every script on a thread shares. Nothing in here writes.
--   KEYS[1..15]  the thread's keys in the order of ThreadKeys (keys.ts)
--   ARGV[1]      prefix of the user's run records (hash each), completed by the run id
--   ARGV[2]      prefix of the user's event logs (stream each), completed by the run id
--   ARGV[3]      the thread as a member of the pending set
--   ARGV[4]      thread id
--   ARGV[5]      JSON object: the script's own parameters, below as `p`
--   ARGV[6..]    texts that are stored as they are, named by each script, read by `take`
-- A reply is an array that begins with its outcome; 'damaged' names a key that holds something else than it should.
local record_key, log_key, checkpoints_key, order_key, bases_key = unpack(KEYS, 1, 5)
local runs_key, inbox_key, lease_key, pending_key, threads_key, in_flight_key = unpack(KEYS, 6, 11)
local usage_key, feed_key = KEYS[14], KEYS[15]
local pending_member, thread_id = ARGV[3], ARGV[4]
local p = cjson.decode(ARGV[5])

local taken = 5
local function take()
  taken = taken + 1
  return ARGV[taken]
end

local function run_key(run_id) return ARGV[1] .. run_id end
local function events_key(run_id) return ARGV[2] .. run_id end

-- @include types.lua
local kinds = {
  'hash', 'hash', 'hash', 'zset', 'hash', 'zset', 'list', 'string', 'zset', 'zset', 'set', 'hash', 'set',
  'hash', 'hash',
}
local function damaged_thread()
  for index, kind in ipairs(kinds) do
    if is_damaged(KEYS[index], kind) then return KEYS[index] end
  end
end
local function damaged_run(run_id)
  if is_damaged(run_key(run_id), 'hash') then return run_key(run_id) end
  if is_damaged(events_key(run_id), 'stream') then return events_key(run_id) end
end

-- A hash as a table; nil when it is not there.
local function read_hash(key)
  local flat = redis.call('HGETALL', key)
  if #flat == 0 then return nil end
  local hash = {}
  for index = 1, #flat, 2 do hash[flat[index]] = flat[index + 1] end
  return hash
end

-- An ended temporary thread is there only for the readers of its run.
local function read_thread()
  local record = read_hash(record_key)
  if record and record.ended then return nil end
  return record
end

-- Runs in flight, oldest first. The length of the list is bounded by the admission quota.
local function runs_in_flight(record)
  local ids = redis.call('LRANGE', inbox_key, 0, -1)
  if record.current ~= '' then table.insert(ids, 1, record.current) end
  return ids
end
