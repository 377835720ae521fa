-- Shared by every script on a thread. Only `release_bytes` writes.
--   KEYS[1..5]   the thread's record and the keys of its user, in the order of `threadScript` (store-keys.ts); the other keys of
--                the thread are that of its record with an ending, as in `ThreadKeys`
--   ARGV[1]      prefix of the user's run records (hash each), completed by the run id
--   ARGV[2]      prefix of the user's event logs (stream each), completed by the run id
--   ARGV[3]      the thread as a member of the pending set
--   ARGV[4]      thread id
--   ARGV[5]      JSON object: the script's own parameters, below as `p`
--   ARGV[6..]    texts that are stored as they are, named by each script, read by `take`
-- A reply is an array that begins with its outcome; 'damaged' names a key that has the wrong type.
local record_key, pending_key, threads_key, in_flight_key, stored_key = unpack(KEYS, 1, 5)
local log_key = record_key .. ':log'
local checkpoints_key = record_key .. ':checkpoints'
local order_key = record_key .. ':order'
local bases_key = record_key .. ':bases'
local runs_key = record_key .. ':runs'
local inbox_key = record_key .. ':inbox'
local lease_key = record_key .. ':lease'
local owner_key = record_key .. ':owner'
local sandbox_key = record_key .. ':sandbox'
local executions_key = record_key .. ':executions'
local usage_key = record_key .. ':usage'
local feed_key = record_key .. ':feed'
-- The script's own keys, from 1.
local function more_key(index) return KEYS[5 + index] end
local pending_member, thread_id = ARGV[3], ARGV[4]
local p = cjson.decode(ARGV[5])

local taken = 5
local function take()
  taken = taken + 1
  return ARGV[taken]
end

local function run_key(run_id) return ARGV[1] .. run_id end
local function events_key(run_id) return ARGV[2] .. run_id end
-- The run's kwargs as JSON; they may be large, so they are read only to execute the run or to show it.
local function kwargs_key(run_id) return run_key(run_id) .. ':kwargs' end
-- Exists for some time when a run is not to begin without an ordinary admission (withdraw-run.lua).
local function withdrawn_key(run_id) return run_key(run_id) .. ':withdrawn' end

-- @include types.lua
-- The key of the thread, or of its user, that holds a foreign type.
-- @rare
local function wrong_thread_key()
  local keys_by_kind = {
    hash = { record_key, p.erasing },
    zset = { pending_key, threads_key },
    string = { stored_key },
    set = { in_flight_key },
  }
  local endings_by_kind = {
    hash = { ':log', ':checkpoints', ':bases', ':sandbox', ':usage', ':feed' },
    zset = { ':order', ':runs' },
    string = { ':lease', ':owner' },
    set = { ':executions' },
    list = { ':inbox' },
  }
  for kind, endings in pairs(endings_by_kind) do
    local keys = keys_by_kind[kind] or {}
    for _, ending in ipairs(endings) do keys[#keys + 1] = record_key .. ending end
    for _, key in ipairs(keys) do
      if is_damaged(key, kind) then return key end
    end
  end
end
-- p.checked: the caller knows that the types are right.
local function damaged_thread() return not p.checked and wrong_thread_key() end
-- Whether a thread of this id, or its user, was deleted and its files were not moved aside yet. p.erasing: a hash, absent
-- where threads have no files.
-- @rare
local function is_being_erased(member)
  member = member or pending_member
  if not p.erasing then return false end
  local found = redis.call('HMGET', p.erasing, member, member:match('^[^/]+'))
  return found[1] or found[2]
end
-- @rare
local function wrong_run_key(run_id)
  if is_damaged(run_key(run_id), 'hash') then return run_key(run_id) end
  if is_damaged(events_key(run_id), 'stream') then return events_key(run_id) end
  if is_damaged(kwargs_key(run_id), 'string') then return kwargs_key(run_id) end
end
local function damaged_run(run_id) return not p.checked and wrong_run_key(run_id) end

-- Reads a hash as a table, which Redis makes where a reply is a map; nil when it does not exist.
local function read_hash(key)
  redis.setresp(3)
  local hash = redis.call('HGETALL', key).map
  redis.setresp(2)
  return next(hash) and hash
end

-- Reads the record of a run; nil when it does not exist. Records of earlier versions hold the kwargs, too.
local function read_run(run_id) return read_hash(run_key(run_id)) end

-- The value as Redis stores it; numbers are whole.
local function text_of(value) return type(value) == 'number' and string.format('%d', value) or value end

-- A table as a list: { field, text, field, text, … }.
local function flat_of(hash)
  local list, length = {}, 0
  for field, value in pairs(hash) do
    if type(value) == 'number' then value = text_of(value) end
    list[length + 1], list[length + 2] = field, value
    length = length + 2
  end
  return list
end

-- Whether the thread record has a copy of a channel. What the model is shown besides the conversation, and the counters of
-- middlewares, may be large and compressed, and no list of threads shows them.
local function is_listed(channel) return channel ~= 'thread_context' and channel ~= 'guards' end

-- Appends the values of a list to another one.
local function append_list(list, values)
  local length = #list
  for index = 1, #values do list[length + index] = values[index] end
end

-- Appends values, which are few, to a list.
local function append_to(list, ...) append_list(list, { ... }) end

-- Sets the fields of a list { field, value, field, value, … } in a table.
local function set_in(hash, list)
  for index = 1, #list, 2 do
    local value = list[index + 1]
    hash[list[index]] = type(value) == 'number' and text_of(value) or value
  end
end

-- Reads the run's record, and its kwargs; false when the record holds them.
-- @rare
local function shown_run(run_id) return redis.call('HGETALL', run_key(run_id)), redis.call('GET', kwargs_key(run_id)) end

-- Subtracts what a run's record counts as `stored` (admit.lua) from the user's bytes; runs of earlier versions count nothing.
-- @rare
local function release_bytes(stored)
  if stored and redis.call('DECRBY', stored_key, stored) <= 0 then redis.call('DEL', stored_key) end
end

-- Nil for an ended temporary thread, which exists only for the readers of its run.
local function read_thread()
  local record = read_hash(record_key)
  if record and record.ended then return nil end
  return record
end

-- Runs in flight, oldest first. The length of the list is bounded by the admission quota. `is_empty`: the inbox is known to be empty.
local function runs_in_flight(record, is_empty)
  local ids = is_empty and {} or redis.call('LRANGE', inbox_key, '0', '-1')
  if record.current ~= '' then table.insert(ids, 1, record.current) end
  return ids
end
-- @body
