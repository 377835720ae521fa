-- The event log of a run: entries `<seq>-0`, field `d` with the event as JSON. An entry of several joined deltas, or of a list of
-- events, has the number of the last one. Counters lie in the run record and are saved by `save_log`; a script adds its events before its other
-- writes, as XADD may fail. Needs p.max_log_bytes, p.after, `run_key` and `events_key`.
local function write_entry(run, field, text)
  run.bytes = run.bytes + #text
  redis.call('XADD', events_key(run.run_id), string.format('%d-0', run.seq), field, text)
end

-- Adds an entry that holds `events` events, one if that is absent.
local function add_event(run, text, events)
  run.seq = run.seq + (events or 1)
  write_entry(run, 'd', text)
end

-- The greatest distance between the newest event that is stored and one that a reader may have seen already.
local MAX_AHEAD = 1000

-- Leaves out the numbers up to `last`, under which readers may have seen events that are not stored: other events never get
-- the same numbers. An entry with field `skips` names the first number that it covers.
-- @rare
local function skip_numbers(run, last)
  local first = run.seq + 1
  if last < first then return end
  run.seq = last
  write_entry(run, 'skips', string.format('%.0f', first))
end

-- Adds a checkpoint event, and marks it as a position to trim to: a replay does not need the events before it. `before`, which
-- may be absent: a list of `count` events without its end, which is to be written with it, and `last`, which may be absent: an
-- event after it in this list.
local function add_checkpoint_event(run, event, before, count, last)
  run.border_bytes = run.bytes
  if before and last then
    add_event(run, before .. ',' .. event .. ',' .. last .. ']', count + 2)
  elseif before then
    add_event(run, before .. ',' .. event .. ']', count + 1)
  else
    add_event(run, event)
  end
  run.border = run.seq
end

-- Writes the counters, with other fields of the run's record: { field, value, … }. Above p.max_log_bytes the events before
-- the newest such position are removed.
local function save_log(run, others)
  if tonumber(run.bytes) > p.max_log_bytes and tonumber(run.border_bytes) > 0 then
    redis.call('XTRIM', events_key(run.run_id), 'MINID', string.format('%.0f-0', run.border))
    run.bytes = run.bytes - run.border_bytes
    run.border_bytes = 0
  end
  redis.call('HSET', run_key(run.run_id), 'seq', run.seq, 'bytes', run.bytes,
    'border', run.border, 'border_bytes', run.border_bytes, unpack(others))
end

-- How many events entries hold that have these numbers of events.
local function count_events(entries)
  local events = 0
  for _, count in ipairs(entries) do events = events + count end
  return events
end

-- Detects a repeated write: p.after is the number of the newest event its writer knows, absent when unknown.
-- True: the same write, of `events` events, took effect before, as only the owner appends; 'other': newer events exist that
-- it did not write; nil: it was not done yet.
local function written_before(run, events)
  local seq = tonumber(run.seq)
  if not p.after or seq == p.after then return nil end
  return seq == p.after + events or 'other'
end
