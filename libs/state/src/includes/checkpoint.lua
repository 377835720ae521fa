-- Writes a checkpoint. Needs thread.lua, clock.lua, feed.lua. The parameter `c` is p.commit:
--   expected      the head checkpoint that is replaced, '' for none
--   parent        the checkpoint that it is based on, '' for none; absent: `expected`
--   next_entry, next_value   the first numbers of new messages and new channel values
--   messages      how many new messages
--   shown         {index among the new messages, id} of those that users see
--   compact       whether new rows of the feed have the compact form
--   values        names of the new channel values, in order
--   cleared       names of removed channels
--   channels      with a fork only: every channel's entry
--   has_pruned    whether the same run has pruned already
--   bytes, fields of the state, and how many the log has then
--   free          after a sweep: unreferenced log fields; swept: how many fields outside the head remain
-- Texts read by `take`: checkpoint (checkpoint-text.lua), event JSON without id and time, messages, channel values.
-- @include checkpoint-text.lua
-- Nil where files lie on a data volume: nothing is known of their generations then.
local files
if p.files then
  -- @include ../files/generations.lua
  files = { key = record_key .. ':files', note = note_files_before, capture = capture_files, reset = reset_files, take_back = take_back_files }
end

-- Whether the thread has changed since the writer read it.
local function is_stale(record, c)
  return record.head ~= c.expected or record.next_entry ~= c.next_entry or record.next_value ~= c.next_value
end

-- A UUID whose digits rise with Redis' time, strictly within the thread; its last digits differ between threads. Returns the
-- id, its time in µs and as text.
local function mint_checkpoint(record)
  local us = math.max(now_us, tonumber(record.minted) + 1)
  local digits = redis.sha1hex(record_key)
  local id = id_of(us, '8' .. digits:sub(1, 3) .. '-' .. digits:sub(4, 15))
  return id, us, us == now_us and now_iso or iso(math.floor(us / 1000))
end

-- Sets the values of the thread record to those of a checkpoint.
-- @rare
local function show_values(record, channels)
  for field in pairs(record) do
    local name = field:sub(1, 2) == 'v:' and field:sub(3)
    if name and not (channels[name] and is_listed(name)) then redis.call('HDEL', record_key, field) end
  end
  for name, entry in pairs(channels) do
    if is_listed(name) then redis.call('HSET', record_key, 'v:' .. name, redis.call('HGET', log_key, 'c' .. entry)) end
  end
end

-- How many checkpoints a commit passes at most: more than it writes, so that after a run with many a thread comes back to
-- p.kept_checkpoints within a few commits.
local MAX_PRUNED = 20

local function has_event_log(checkpoint)
  local run_id = checkpoint_of(checkpoint, redis.call('HGET', checkpoints_key, checkpoint)).metadata.run_id
  return run_id and redis.call('EXISTS', events_key(run_id)) == 1
end

-- Removes checkpoints older than the last p.kept_checkpoints: not the base of a run, not those of a run whose event log
-- still exists. `pruned` in the thread's record, which the caller writes, is how far earlier calls came. Returns how many checkpoints
-- there are now.
-- @rare
local function prune(record)
  local count = redis.call('ZCARD', order_key)
  local surplus = count - p.kept_checkpoints
  if surplus <= 0 then return count end
  local from = record.pruned == '' and '-' or '(' .. record.pruned
  for _, id in ipairs(redis.call('ZRANGEBYLEX', order_key, from, '+', 'LIMIT', 0, MAX_PRUNED)) do
    if redis.call('ZRANK', order_key, id) >= surplus then break end
    if redis.call('HEXISTS', bases_key, id) == 0 then
      if has_event_log(id) then break end
      redis.call('HDEL', checkpoints_key, id)
      redis.call('ZREM', order_key, id)
      if files then redis.call('HDEL', files.key, 'c:' .. id) end
      surplus, count = surplus - 1, count - 1
    end
    record.pruned = id
  end
  return count
end

-- Writes the log's new entries; returns the changed fields of the thread record. An earlier version listed more channels.
local function write_entries(record, c)
  local entry, value = tonumber(c.next_entry), tonumber(c.next_value)
  local fields = { 'next_entry', text_of(entry + c.messages), 'next_value', text_of(value + #c.values) }
  local entries, length = {}, 0
  for index = 1, c.messages do
    length = length + 2
    entries[length - 1], entries[length] = string.format('%d', entry + index - 1), take()
  end
  for index, name in ipairs(c.values) do
    local text = take()
    length = length + 2
    entries[length - 1], entries[length] = string.format('c%d', value + index - 1), text
    if is_listed(name) then
      append_to(fields, 'v:' .. name, text)
    elseif record['v:' .. name] then
      redis.call('HDEL', record_key, 'v:' .. name)
    end
  end
  for from = 1, length, 1000 do
    redis.call('HSET', log_key, unpack(entries, from, math.min(from + 999, length)))
  end
  for _, name in ipairs(c.cleared) do redis.call('HDEL', record_key, 'v:' .. name) end
  return fields
end

-- Writes the generated checkpoint { id, µs, time, text } as the head; for `run`, or for a client. Returns the changed fields
-- of the thread's record, which the caller writes with its own, as { field, value, … }.
local function write_checkpoint(record, c, written, run)
  local id, minted, created_at, text = unpack(written)
  add_rows(c, run)
  local fields = write_entries(record, c)
  redis.call('HSET', checkpoints_key, id, complete_checkpoint(id, c.parent or c.expected, created_at, text))
  redis.call('ZADD', order_key, '0', id)
  if c.channels then
    show_values(record, c.channels)
    if files then files.reset(files.key, c.parent) end
  end
  if files then files.capture(files.key, id) end
  if c.free then
    for _, field in ipairs(c.free) do redis.call('HDEL', log_key, field) end
    append_to(fields, 'swept', c.swept)
  end
  local _, _, count = sizes_in(record)
  count = count and count + 1
  record.head = id
  local pruned = record.pruned
  if not c.has_pruned and not (count and count <= p.kept_checkpoints) then count = prune(record) end
  if record.pruned ~= pruned then append_to(fields, 'pruned', record.pruned) end
  minted = string.format('%d', minted)
  append_to(fields, 'head', id, 'minted', minted, 'sized', string.format('%s:%d:%d:%s', minted, c.bytes, c.fields, count or ''))
  return fields
end
