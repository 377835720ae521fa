-- Reads checkpoints with the log entries that they refer to.
-- @include checkpoint-text.lua

-- The log entries that the checkpoints { id = text, … } refer to, each once: { field, text, field, text, … }.
local function entries_of(texts)
  local fields, seen = {}, {}
  local function want(field)
    if seen[field] then return end
    seen[field] = true
    fields[#fields + 1] = field
  end
  for id, text in pairs(texts) do
    local checkpoint = checkpoint_of(id, text)
    for _, range in ipairs(checkpoint.ranges) do
      for entry = range[1], range[2] do want(string.format('%.0f', entry)) end
    end
    for _, entry in pairs(checkpoint.channels) do want('c' .. entry) end
  end
  local flat = {}
  for from = 1, #fields, 1000 do
    local to = math.min(from + 999, #fields)
    local found = redis.call('HMGET', log_key, unpack(fields, from, to))
    for index, text in ipairs(found) do
      flat[#flat + 1] = fields[from + index - 1]
      flat[#flat + 1] = text
    end
  end
  return flat
end

-- The counters that a writer needs with a checkpoint.
local function log_counters(record)
  return { record.next_entry, record.next_value, redis.call('HLEN', log_key), record.swept }
end

-- The head for a writer of the thread: { head id, counters, checkpoint texts, entries }.
local function load_head(record)
  local text = record.head ~= '' and redis.call('HGET', checkpoints_key, record.head)
  return { record.head, log_counters(record), { text or nil }, entries_of(text and { [record.head] = text } or {}) }
end
