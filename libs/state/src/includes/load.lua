-- Reads checkpoints with the log entries that they refer to.
-- @include checkpoint-text.lua

-- Calls `use` with each field of the log that a checkpoint refers to.
local function each_field(id, text, use)
  local checkpoint = checkpoint_of(id, text)
  for _, range in ipairs(checkpoint.ranges) do
    for entry = range[1], range[2] do use(string.format('%.0f', entry)) end
  end
  for _, entry in pairs(checkpoint.channels) do use('c' .. entry) end
end

-- The log entries that the checkpoints { id = text, … } refer to, each once: { field, text, field, text, … }. p.known, which may
-- be absent: a checkpoint whose entries the caller has; they are left out if the thread still has that checkpoint.
local function entries_of(texts)
  local fields, seen = {}, {}
  local function want(field)
    if seen[field] then return end
    seen[field] = true
    fields[#fields + 1] = field
  end
  local function leave_out(field) seen[field] = true end
  local wanted = {}
  for id in pairs(texts) do
    if id ~= p.known then wanted[#wanted + 1] = id end
  end
  local known = p.known and #wanted > 0 and redis.call('HGET', checkpoints_key, p.known)
  if known then each_field(p.known, known, leave_out) end
  for _, id in ipairs(wanted) do each_field(id, texts[id], want) end
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
  local _, fields = sizes_in(record)
  return { record.next_entry, record.next_value, fields or redis.call('HLEN', log_key), record.swept }
end

-- The head for a writer of the thread: { head id, counters, checkpoint texts, entries }.
-- @rare
local function load_head(record)
  local text = record.head ~= '' and redis.call('HGET', checkpoints_key, record.head)
  return { record.head, log_counters(record), { text or nil }, entries_of(text and { [record.head] = text } or {}) }
end
