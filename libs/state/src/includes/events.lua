-- The event log of a run: entries `<seq>-0`, field `d` with the event as JSON. Counters lie in the run record and are
-- saved by `save_log`; a script adds its events before its other writes, as XADD may fail.
local function add_event(run, text)
  run.seq = tonumber(run.seq) + 1
  run.bytes = tonumber(run.bytes) + #text
  redis.call('XADD', events_key(run.run_id), string.format('%.0f-0', run.seq), 'd', text)
end

-- Marks the next event, a checkpoint, as a position to trim to: a replay does not need the events before it.
local function mark_border(run)
  run.border = run.seq + 1
  run.border_bytes = run.bytes
end

-- Writes the counters, with other fields of the run's record. Above p.max_log_bytes the events before the newest such
-- position are removed.
local function save_log(run, ...)
  if tonumber(run.bytes) > p.max_log_bytes and tonumber(run.border_bytes) > 0 then
    redis.call('XTRIM', events_key(run.run_id), 'MINID', string.format('%.0f-0', run.border))
    run.bytes = run.bytes - run.border_bytes
    run.border_bytes = 0
  end
  redis.call('HSET', run_key(run.run_id), 'seq', run.seq, 'bytes', run.bytes,
    'border', run.border, 'border_bytes', run.border_bytes, ...)
end
