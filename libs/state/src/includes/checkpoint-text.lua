-- Forms of a stored checkpoint: a JSON object with the names of StoredCheckpoint (checkpoints/checkpoint-text.ts), or, compact,
-- an array of the same without id and time, which follow from the id of the checkpoint:
--   parent     id; where it is one of the same thread, how many µs earlier its id was generated; null for none
--   ranges, channels, bytes, source, step, run id ('' for none), next, error (absent for none)
local function micros_of(id)
  return tonumber(id:sub(1, 8) .. id:sub(10, 13), 16) * 1000 + tonumber(id:sub(16, 18), 16)
end

-- The id for a time in µs whose digits rise with it; the last digits, `tail`, are the same for all checkpoints of a thread.
local function id_of(us, tail)
  local ms = math.floor(us / 1000)
  return string.format('%08x-%04x-7%03x-%s', math.floor(ms / 65536), ms % 65536, us % 1000, tail)
end

local function tail_of(id) return id:sub(20) end

-- What the thread's record knows of its head: the bytes of its state, how many fields the log has, and how many checkpoints there are, nil
-- for unknown. The field `sized` is '<time in µs of the id of the checkpoint>:<bytes>:<fields>:<checkpoints>'. It is about another checkpoint
-- after a rollback, and when a script of an earlier version wrote the head: nothing is known then.
local function sizes_in(record)
  if record.head == '' then return 0, nil, 0 end
  local us, bytes, fields, count = (record.sized or ''):match('^(%d+):(%d+):(%d+):(%d*)$')
  if us and tonumber(us) == micros_of(record.head) then return tonumber(bytes), tonumber(fields), tonumber(count) end
end

-- Decodes the checkpoint `id`, whichever form it has.
local function checkpoint_of(id, text)
  local stored = cjson.decode(text)
  if stored.ranges then return stored end
  local parent, ranges, channels, bytes, source, step, run_id, next_nodes, failure = unpack(stored, 1, 9)
  if type(parent) == 'number' then parent = id_of(micros_of(id) - parent, tail_of(id)) end
  local metadata = { source = source, step = step, run_id = run_id ~= '' and run_id or nil }
  return { parent = parent, ranges = ranges, channels = channels, bytes = bytes, metadata = metadata, next = next_nodes, error = failure }
end

-- Completes the text of a checkpoint, as its writer sent it, by what the script decides; `created_at` is part of the object
-- only. The text of an array lacks its first value.
local function complete_checkpoint(id, parent, created_at, text)
  if text:byte(1) ~= 91 then return '{"id":"' .. id .. '","created_at":"' .. created_at .. '",' .. text:sub(2) end
  local first = 'null'
  if parent ~= '' then
    first = tail_of(parent) == tail_of(id) and string.format('%d', micros_of(id) - micros_of(parent)) or '"' .. parent .. '"'
  end
  return '[' .. first .. ',' .. text:sub(2)
end
