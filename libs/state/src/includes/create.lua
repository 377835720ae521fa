-- Writes a new thread record. Needs thread.lua, clock.lua.
-- Whether the user has reached the limit of threads; p.max_threads is 0 for no limit.
-- @rare
local function has_all_threads()
  return p.max_threads > 0 and redis.call('ZCARD', threads_key) >= p.max_threads
end

-- Returns the record. Unset texts are '', counters begin at 1; `minted`: time in µs of the newest checkpoint id; `admitted`: how
-- many runs got a number (ordinal.lua).
local function create_thread(metadata, temporary, status, admitted)
  local fields = { 'created_at', now_iso, 'updated_at', now_iso, 'metadata', metadata,
    'status', status, 'settled', 'idle', 'head', '', 'current', '', 'next_entry', '1', 'next_value', '1',
    'minted', '0', 'pruned', '', 'swept', '0', 'temporary', temporary and '1' or '', 'admitted', admitted }
  redis.call('HSET', record_key, unpack(fields))
  if not temporary then redis.call('ZADD', threads_key, now_ms, thread_id) end
  local record = {}
  set_in(record, fields)
  return record
end
