-- The record of a run that has ended: small, as it stays for as long as its thread. Needs thread.lua, clock.lua.

-- Fields that nobody reads after the end: those for the owner, for the writers of log and feed, and for admissions while the
-- run is in flight. The same is true of `m:<model>` (usage.lua).
local function unread_after_end()
  return {
    tries = true, open = true, bytes = true, border = true, border_bytes = true, base_entry = true, base_value = true,
    input_committed = true, traceparent = true, admitted_head = true, regenerates = true, replaces = true,
    lowest_row = true, counted = true, api_key = true, agent = true, idempotency = true, kwargs = true,
    webhook = true,
    pause = true, goal_made = true, traced = true, asked = true, asked_ms = true,
  }
end

-- Redis holds a hash compactly as long as no field or value is longer than this.
local MAX_COMPACT = 64
-- Longer metadata take more space than the table that they make of the hash.
local MAX_SPLIT = 2048

-- Adds metadata to a list of fields and values as `metadata:1`, `metadata:2`, …, which the codec joins. A part does not end
-- within a character. `metadata` is for readers of an earlier version.
-- @rare
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

-- The fields of a whole record that are read, as { field, text, … }. `splits`: long metadata are written in parts, where the hash then
-- has no long value. An absent field is read as ''. Runners of an earlier version compare the base with '', though.
local function read_fields(run, splits)
  local list, length, metadata, unread = {}, 0, nil, unread_after_end()
  for field, value in pairs(run) do
    if not unread[field] and (value ~= '' or field == 'base_checkpoint_id') and field:sub(1, 2) ~= 'm:' then
      local text = type(value) == 'number' and text_of(value) or value
      local is_long = #text > MAX_COMPACT or #field > MAX_COMPACT
      if is_long and field == 'metadata' and #text <= MAX_SPLIT then
        metadata = text
      else
        splits = splits and not is_long
        list[length + 1], list[length + 2] = field, text
        length = length + 2
      end
    end
  end
  if metadata and splits then add_parts(list, metadata) elseif metadata then append_to(list, 'metadata', metadata) end
  return list
end

-- Sets the deadline of the kwargs, p.events_ttl_ms: the input is a part of the thread by now. It counts as stored until the
-- run is deleted, like its messages. A record that an earlier version admitted may hold the kwargs itself.
local function expire_kwargs(run)
  local key = kwargs_key(run.run_id)
  if run.kwargs and redis.call('EXISTS', key) == 0 then redis.call('SET', key, run.kwargs) end
  redis.call('PEXPIRE', key, p.events_ttl_ms)
end

-- Writes the last values, { field, value, … }, into the record of a run and removes what is not read after its end. `run` is
-- all of the record. Of the idempotency key, which is long, only the last part remains. The metadata of tasks, whose threads
-- are temporary, are read by runners of an earlier version and stay whole.
local function close_record(record, run, changed)
  expire_kwargs(run)
  append_to(changed, 'seq', run.seq, 'updated_at', now_iso)
  if run.idempotency then append_to(changed, 'idempotency_digest', run.idempotency:match('[^:]+$')) end
  set_in(run, changed)
  -- Written again as a whole, as that takes less time than removing one field after the other.
  local key = run_key(run.run_id)
  redis.call('DEL', key)
  redis.call('HSET', key, unpack(read_fields(run, record.temporary ~= '1')))
end
