-- Writing a checkpoint. Needs thread.lua, clock.lua, feed.lua. The parameter `c` is p.commit:
--   expected      head checkpoint that is replaced, '' for none
--   next_entry, next_value   numbers that new messages and new channel values begin with
--   messages      how many new messages
--   shown         {place among the new messages, id} of those that people see
--   values        names of the new channel values, in order
--   cleared       names of channels that are not there any more
--   channels      with a fork only: every channel's entry
--   free          after a sweep: log fields that no kept checkpoint shows; swept: how many unshown ones stay
-- Texts taken: checkpoint JSON, event JSON (both without id and time), messages, channel values.

-- Whether the thread still is what the writer built on.
local function is_stale(record, c)
  return record.head ~= c.expected or record.next_entry ~= c.next_entry or record.next_value ~= c.next_value
end

-- A UUID whose digits rise with Redis' time, strictly within the thread; the tail tells threads apart.
local function mint_checkpoint(record)
  local us = math.max(now_us, tonumber(record.minted) + 1)
  local ms = string.format('%012x', math.floor(us / 1000))
  local tail = redis.sha1hex(record_key)
  local id = string.format('%s-%s-7%03x-8%s-%s', ms:sub(1, 8), ms:sub(9, 12), us % 1000, tail:sub(1, 3), tail:sub(4, 15))
  return id, us
end

-- A JSON object text with the id and time of the checkpoint put first.
local function stamped(name, id, text)
  return '{"' .. name .. '":"' .. id .. '","created_at":"' .. now_iso .. '",' .. text:sub(2)
end

-- Makes the record's values those of a checkpoint.
local function show_values(record, channels)
  for field in pairs(record) do
    if field:sub(1, 2) == 'v:' and not channels[field:sub(3)] then redis.call('HDEL', record_key, field) end
  end
  for name, entry in pairs(channels) do
    redis.call('HSET', record_key, 'v:' .. name, redis.call('HGET', log_key, 'c' .. entry))
  end
end

-- Drops a few checkpoints older than the last p.kept_checkpoints: not the base of a run, not those of a run whose
-- event log is still there. `pruned` remembers how far it has looked.
local function prune(record)
  local from = record.pruned == '' and '-' or '(' .. record.pruned
  for _, id in ipairs(redis.call('ZRANGEBYLEX', order_key, from, '+', 'LIMIT', 0, 4)) do
    if redis.call('ZRANK', order_key, id) >= redis.call('ZCARD', order_key) - p.kept_checkpoints then return end
    if redis.call('HEXISTS', bases_key, id) == 0 then
      local run_id = cjson.decode(redis.call('HGET', checkpoints_key, id)).metadata.run_id
      if run_id and redis.call('EXISTS', events_key(run_id)) == 1 then return end
      redis.call('HDEL', checkpoints_key, id)
      redis.call('ZREM', order_key, id)
    end
    record.pruned = id
    redis.call('HSET', record_key, 'pruned', id)
  end
end

-- Writes the log's new entries; answers the fields of the thread's record that change.
local function write_entries(c)
  local entry, value = tonumber(c.next_entry), tonumber(c.next_value)
  local fields = { 'next_entry', entry + c.messages, 'next_value', value + #c.values }
  local entries = {}
  for index = 1, c.messages do
    entries[#entries + 1] = string.format('%.0f', entry + index - 1)
    entries[#entries + 1] = take()
  end
  for index, name in ipairs(c.values) do
    local text = take()
    entries[#entries + 1] = string.format('c%.0f', value + index - 1)
    entries[#entries + 1] = text
    fields[#fields + 1] = 'v:' .. name
    fields[#fields + 1] = text
  end
  for from = 1, #entries, 1000 do
    redis.call('HSET', log_key, unpack(entries, from, math.min(from + 999, #entries)))
  end
  for _, name in ipairs(c.cleared) do redis.call('HDEL', record_key, 'v:' .. name) end
  return fields
end

-- Writes the minted checkpoint, whose JSON is `text`, as the head; for `run`, or for a client.
local function write_checkpoint(record, c, written, run)
  local id, minted, text = unpack(written)
  add_rows(c, run)
  local fields = write_entries(c)
  redis.call('HSET', checkpoints_key, id, stamped('id', id, text))
  redis.call('ZADD', order_key, 0, id)
  redis.call('HSET', record_key, 'head', id, 'minted', string.format('%.0f', minted),
    'updated_at', now_iso, unpack(fields))
  if c.channels then show_values(record, c.channels) end
  if c.free then
    for _, field in ipairs(c.free) do redis.call('HDEL', log_key, field) end
    redis.call('HSET', record_key, 'swept', c.swept)
  end
  record.head = id
  prune(record)
end
