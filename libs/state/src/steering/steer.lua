-- Gives the messages of a request to the run in flight. Needs thread.lua, clock.lua, ending.lua, feed.lua, state-bytes.lua,
-- waiting-list.lua. Parameters: those of admit.lua, and p.messages (ids of the messages), max_steering, max_steering_bytes (of those
-- that wait for the thread's run), join_only (no run is started). The messages as JSON follow the other texts of admit.lua.
local FIRST_MESSAGE = 8

-- The oldest run that was not asked to stop; nil for none.
local function steered_run(current, queued)
  if current and current.cancel == '' then return current end
  return queued[1]
end

-- The run that each waiting message was given to, by the hash of its id; and the bytes of all.
local function waiting_runs(record)
  local runs, bytes = {}, 0
  for _, text in ipairs(waiting_texts(record) or {}) do
    local run_id, hash = text:match('^([^:]*):(%x*):')
    runs[hash] = run_id
    bytes = bytes + #text
  end
  return runs, bytes
end

-- The run whose committed turn has the message as a row of the feed.
local function joined_run(id)
  local row = row_of(redis.call('HGET', feed_key, 'i:' .. id))
  return row and not row.hidden and row.run or nil
end

-- The ids of messages in the input of a run that no checkpoint has yet.
local function uncommitted_ids(run)
  local ids = {}
  local text = run and run.input_committed ~= '1' and redis.call('GET', kwargs_key(run.run_id))
  local input = text and cjson.decode(text).input
  local messages = type(input) == 'table' and input.messages
  for _, message in ipairs(type(messages) == 'table' and messages or {}) do ids[message.id] = run.run_id end
  return ids
end

-- The messages of the request that the thread does not have, as indices; and the run that has the last of the others.
local function fresh_messages(target, waiting)
  local fresh, holder = {}, nil
  local input = uncommitted_ids(target)
  for index, id in ipairs(p.messages) do
    local run_id = waiting[redis.sha1hex(id)] or input[id] or joined_run(id)
    if run_id then holder = run_id else fresh[#fresh + 1] = index end
  end
  return fresh, holder
end

local function remember_request(run_id)
  local key = more_key(1)
  if key then redis.call('SET', key, cjson.encode({ body_hash = p.body_hash, run = run_id }), 'PX', p.idempotency_ttl_ms) end
end

-- The reply with the run that has all messages of the request already.
local function repeated_by(target, holder)
  local run_id = holder
  if redis.call('EXISTS', run_key(run_id)) == 0 then run_id = target and target.run_id end
  return run_id and { 'repeated', shown_run(run_id) }
end

-- Appends the fresh messages to the list and counts them as stored by the run.
local function add_waiting(record, run, fresh, bytes)
  local texts = {}
  for _, index in ipairs(fresh) do
    texts[#texts + 1] = run.run_id .. ':' .. redis.sha1hex(p.messages[index]) .. ':' .. ARGV[FIRST_MESSAGE + index]
  end
  redis.call('RPUSH', steering_key, unpack(texts))
  set_waiting(record, count_waiting(record) + #fresh)
  redis.call('INCRBY', stored_key, bytes)
  redis.call('HINCRBY', run_key(run.run_id), 'stored', bytes)
  touch(record)
end

-- Returns the reply; nil when there is no run to give them to and the messages are new. `to_come`: bytes of the state that the
-- run will find; `stored`: bytes that the user has stored.
local function steer(record, target, to_come, stored)
  if is_damaged(steering_key, 'list') then return { 'damaged', steering_key } end
  local waiting, waiting_bytes = waiting_runs(record)
  local fresh, holder = fresh_messages(target, waiting)
  if #fresh == 0 then
    local reply = repeated_by(target, holder)
    if reply then return reply end
  end
  if not target then return p.join_only and { 'nothing_runs' } or nil end
  local bytes = 0
  for _, index in ipairs(fresh) do bytes = bytes + #ARGV[FIRST_MESSAGE + index] end
  if count_waiting(record) + #fresh > p.max_steering then return { 'many_waiting', count_waiting(record) } end
  if waiting_bytes + bytes > p.max_steering_bytes then return { 'large_waiting', waiting_bytes } end
  if p.max_stored > 0 and stored + bytes > p.max_stored then return { 'stored', stored } end
  local after = to_come + waiting_bytes
  if p.max_state_bytes > 0 and after > p.max_state_bytes then return { 'large', after } end
  add_waiting(record, target, fresh, bytes)
  remember_request(target.run_id)
  local run, kwargs = shown_run(target.run_id)
  return { 'steered', run, kwargs, after + bytes, redis.call('HGET', run_key(target.run_id), 'border') }
end
