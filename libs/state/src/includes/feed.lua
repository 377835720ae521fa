-- The feed of a thread: the messages that users see, a row for each, by a number that is never reused. Needs
-- thread.lua, clock.lua. Fields of the hash: `last` (the newest number), `<number>` (the row), `i:<message id>` (the
-- number of its row). A row, in one of the forms of feed-row.lua:
--   id       of the message
--   entry    its newest version in the log
--   run      the run that wrote it first; absent for a client
--   at       when; in a compact row as at_ms
--   by, before   the run that replaced it last, and the entry until then
--   hidden   the run whose turn replaces it, until that run has ended; or 'client'
--   was      number of the row that had the message before
-- Of a run's record: `regenerates` (the run whose turn it regenerates), `first_row` (the first it may make), `replaces`
-- (the first row that it hides), `lowest_row` (the lowest it wrote).
-- @include feed-row.lua
-- @rare
local function text_of_row(number) return redis.call('HGET', feed_key, number) end

-- @rare
local function row_of(number)
  local text = number and text_of_row(number)
  return text and decode_row(text, text_of_row)
end

-- The text of a row: compact when it was, and has no further fields. `first`: number of the first row of its run.
local function encode_row(number, row, first)
  if row.at or row.by or row.hidden or row.was then
    row.at = row.at or iso(row.at_ms)
    row.at_ms = nil
    return cjson.encode(row)
  end
  local run = row.run or ''
  if first and first < tonumber(number) then run = first end
  return cjson.encode({ row.id, row.entry, run, row.at_ms })
end

-- @rare
local function put_row(number, row) redis.call('HSET', feed_key, number, encode_row(number, row)) end

local function last_row() return tonumber(redis.call('HGET', feed_key, 'last') or 0) end

-- The newest number, and the number of the row of a message; `read` has what the script has read before of the next message.
local read = {}
local function row_and_last(id)
  if read.id ~= id then read.number, read.last = unpack(redis.call('HMGET', feed_key, 'i:' .. id, 'last')) end
  read.id = nil
  return read.number, tonumber(read.last or 0)
end

-- The newest number, for a script that adds the rows of `c` next if `c` is there.
local function last_row_before(c)
  local first = c and c.shown[1]
  if not first then return last_row() end
  local _, last = row_and_last(first[2])
  read.id = first[2]
  return last
end

-- Hides the turn that the run replaces, and the rows after it.
-- @rare
local function hide_replaced(run)
  for number = tonumber(run.replaces), last_row() do
    local row = row_of(number)
    if row and not row.hidden then
      row.hidden = run.run_id
      put_row(number, row)
    end
  end
end

-- Changes the row of a message; false when it is hidden, or does not exist.
-- @rare
local function change_row(number, entry, run_id)
  local row = row_of(number)
  if not row or row.hidden then return false end
  if not run_id then
    row.by, row.before = nil, nil
  elseif row.run ~= run_id and row.by ~= run_id then
    row.by, row.before = run_id, row.entry
  end
  row.entry = entry
  put_row(number, row)
  return true
end

-- Adds the row of a message, or changes the one that it has; returns its number.
local function add_row(c, id, entry, run)
  local run_id = run and run.run_id
  local number, last = row_and_last(id)
  if number and change_row(number, entry, run_id) then return tonumber(number) end
  local fresh = last + 1
  local text = text_of(fresh)
  local row = { id = id, entry = entry, run = run_id, was = number or nil, at_ms = c.compact and now_ms, at = not c.compact and now_iso or nil }
  redis.call('HSET', feed_key, 'last', text, text, encode_row(fresh, row, run and tonumber(run.first_row)), 'i:' .. id, text)
  return fresh
end

-- Adds the rows of a checkpoint (`c` as in checkpoint.lua): c.shown has {index among its new messages, id} of each that
-- users see. `run` is absent for the write of a client; its `lowest_row` is set here and written by the caller.
local function add_rows(c, run)
  if run and run.replaces and c.channels then hide_replaced(run) end
  for _, shown in ipairs(c.shown) do
    local number = add_row(c, shown[2], c.next_entry + shown[1], run)
    if run then run.lowest_row = math.min(tonumber(run.lowest_row) or number, number) end
  end
end

-- Hides the rows of messages for good: a client has removed them. No run has this id.
-- @rare
local function hide_rows(ids)
  for _, id in ipairs(ids) do
    local number = redis.call('HGET', feed_key, 'i:' .. id)
    local row = row_of(number)
    if row and not row.hidden then
      row.hidden = 'client'
      put_row(number, row)
    end
  end
end

-- The first row that a regenerating run hides: the run it names began at the checkpoint where this one forks.
-- @rare
local function replaced_from(run)
  if run.regenerates == '' then return nil end
  if is_damaged(run_key(run.regenerates), 'hash') then return nil end
  local source = read_run(run.regenerates)
  if not source or source.thread_id ~= thread_id or not source.first_row then return nil end
  local base = source.fork_checkpoint_id or ''
  if base == '' then base = source.base_checkpoint_id or '' end
  if base == '' then base = p.before_first end
  return base == run.fork_checkpoint_id and source.first_row or nil
end

-- Removes the rows that a run has hidden, at its end: from then on it cannot be rolled back.
-- @rare
local function drop_hidden_rows(run)
  for number = tonumber(run.replaces), last_row() do
    local row = row_of(number)
    if row and row.hidden == run.run_id then
      local index = 'i:' .. row.id
      redis.call('HDEL', feed_key, number)
      if tonumber(redis.call('HGET', feed_key, index)) == number then redis.call('HDEL', feed_key, index) end
    end
  end
end

-- Reverts what a run did to the feed; its numbers are not reused. Its first row, to which the others refer, is the last one
-- that is removed.
-- @rare
local function drop_rows(run)
  local from = math.min(tonumber(run.replaces) or math.huge, tonumber(run.lowest_row) or math.huge)
  for number = last_row(), from, -1 do
    local row = row_of(number)
    if row and row.run == run.run_id then
      redis.call('HDEL', feed_key, number)
      if row.was then redis.call('HSET', feed_key, 'i:' .. row.id, row.was)
      else redis.call('HDEL', feed_key, 'i:' .. row.id) end
    elseif row and (row.hidden == run.run_id or row.by == run.run_id) then
      if row.hidden == run.run_id then row.hidden = nil end
      if row.by == run.run_id then row.entry, row.by, row.before = row.before, nil, nil end
      put_row(number, row)
    end
  end
end
