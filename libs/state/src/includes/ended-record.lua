-- The record of a run that has ended: small, as it stays for as long as its thread. Needs thread.lua, clock.lua.

-- Fields that nobody reads after the end: those for the owner, for the writers of log and feed, and for admissions while the
-- run is in flight. The same is true of `m:<model>` (usage.lua).
local unread_after_end = {
  tries = true, open = true, bytes = true, border = true, border_bytes = true, base_entry = true, base_value = true,
  input_committed = true, traceparent = true, admitted_head = true, regenerates = true, replaces = true,
  lowest_row = true, counted = true, idempotency = true, kwargs = true,
}

-- An absent field is read as ''. Runners of an earlier version compare the base with '', though.
local function is_read_after_end(field, text)
  if unread_after_end[field] or field:sub(1, 2) == 'm:' then return false end
  return text ~= '' or field == 'base_checkpoint_id'
end

-- Redis holds a hash compactly as long as no field or value is longer than this.
local MAX_COMPACT = 64
-- Longer metadata take more space than the table that they make of the hash.
local MAX_SPLIT = 2048

-- Adds metadata to a list of fields and values as `metadata:1`, `metadata:2`, …, which the codec joins. A part does not end
-- within a character. `metadata` is for readers of an earlier version.
local function add_parts(list, metadata)
  list[#list + 1] = 'metadata'
  list[#list + 1] = '{}'
  local from, part = 1, 1
  while from <= #metadata do
    local to = from + MAX_COMPACT - 1
    while to > from and (metadata:byte(to + 1) or 0) >= 0x80 and metadata:byte(to + 1) < 0xC0 do to = to - 1 end
    list[#list + 1] = 'metadata:' .. part
    list[#list + 1] = metadata:sub(from, to)
    from, part = to + 1, part + 1
  end
end

-- Sorts the fields of a hash: the names of those that are not read, {field, text, …} of the others, and whether the hash is a
-- table that becomes compact when it is written again with these.
local function sort_fields(key, splits)
  local removed, remaining, was_long, is_long = {}, {}, false, false
  local flat = redis.call('HGETALL', key)
  for index = 1, #flat, 2 do
    local field, text = flat[index], flat[index + 1]
    local long = #field > MAX_COMPACT or #text > MAX_COMPACT
    was_long = was_long or long
    if not is_read_after_end(field, text) then
      removed[#removed + 1] = field
    elseif splits and field == 'metadata' and long and #text <= MAX_SPLIT then
      add_parts(remaining, text)
    else
      remaining[#remaining + 1] = field
      remaining[#remaining + 1] = text
      is_long = is_long or long
    end
  end
  return removed, remaining, was_long and not is_long
end

-- Sets the deadline of the kwargs, p.events_ttl_ms: the input is a part of the thread by now. It counts as stored until the
-- run is deleted, like its messages. A record that an earlier version admitted may hold the kwargs itself.
local function expire_kwargs(run_id)
  local inside = redis.call('HGET', run_key(run_id), 'kwargs')
  if inside and redis.call('EXISTS', kwargs_key(run_id)) == 0 then redis.call('SET', kwargs_key(run_id), inside) end
  redis.call('PEXPIRE', kwargs_key(run_id), p.events_ttl_ms)
end

-- Writes the last values into the record of a run and removes what is not read after its end. Of the idempotency key, which
-- is long, only the last part remains. The metadata of tasks, whose threads are temporary, are read by runners of an earlier
-- version and stay whole.
local function close_record(record, run, ...)
  local key = run_key(run.run_id)
  redis.call('HSET', key, 'seq', run.seq, 'updated_at', now_iso, ...)
  expire_kwargs(run.run_id)
  if run.idempotency then redis.call('HSET', key, 'idempotency_digest', run.idempotency:match('[^:]+$')) end
  local removed, remaining, becomes_compact = sort_fields(key, record.temporary ~= '1')
  if becomes_compact then
    redis.call('DEL', key)
    redis.call('HSET', key, unpack(remaining))
  elseif #removed > 0 then
    redis.call('HDEL', key, unpack(removed))
  end
end
