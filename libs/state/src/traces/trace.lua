-- The trace of a run: a list of what happened in it, oldest first, each '<kind> <ms> <values…>' and, after a line end, a text of the
-- process that wrote it (traces/trace-parts.ts reads them). It exists for runs whose admission began it: `traced` in their record is
-- its size in bytes. The part of the admission, which mostly is claimed at once, is written with the part after it: until then the record
-- has it as `asked`, '<process> <request>', and `asked_ms`; `asked` is '' from then on. Needs thread.lua, clock.lua.
local function trace_key(run_id) return run_key(run_id) .. ':trace' end

-- The process that an owner names.
local function process_of(owner) return owner:match('^[^.:]+') end

local MAX_TRACE_PARTS, MAX_TRACE_BYTES = 5000, 4 * 1024 * 1024
-- How many of the first parts always remain; behind them one part counts those that were removed.
local FIRST_TRACE_PARTS = 64
local MAX_REMOVED = 100

local function trace_part(...) return table.concat({ ... }, ' ') end

-- The part of the admission as a list, empty when it is written.
local function unwritten_parts(run)
  local process, request = (run.asked or ''):match('^(%S+) (%S+)$')
  if not process then return {} end
  local payer = run.api_key and run.api_key ~= '' and run.api_key or '-'
  return { trace_part('a', run.asked_ms, process, payer, run.multitask_strategy, request) }
end

local function add_trace(run, ...)
  if not run.traced then return end
  local parts = unwritten_parts(run)
  if #parts > 0 then
    run.asked = ''
    redis.call('HSET', run_key(run.run_id), 'asked', '')
  end
  append_to(parts, trace_part(...))
  redis.call('RPUSH', trace_key(run.run_id), unpack(parts))
end

-- Begins the trace of a run that answers interrupts (admit.lua).
-- @rare
local function trace_answers(strategy)
  local payer = p.api_key ~= '' and p.api_key or '-'
  local asked = p.trace.request .. '\n' .. p.trace.answered
  add_trace({ run_id = p.run, traced = '0' }, 'a', now_ms, p.trace.process, payer, strategy, asked)
end

-- Removes the oldest part behind the first ones; returns its bytes.
-- @rare
local function drop_traced(key)
  local count = redis.call('LINDEX', key, FIRST_TRACE_PARTS)
  local dropped = tonumber(count:match('^n %d+ (%d+)$'))
  if not dropped then
    redis.call('LSET', key, FIRST_TRACE_PARTS, 'n ' .. text_of(now_ms) .. ' 1')
    return #count
  end
  local oldest = redis.call('LINDEX', key, FIRST_TRACE_PARTS + 1)
  redis.call('LSET', key, FIRST_TRACE_PARTS, 'n ' .. text_of(now_ms) .. ' ' .. (dropped + 1))
  redis.call('LSET', key, FIRST_TRACE_PARTS + 1, '')
  redis.call('LREM', key, 1, '')
  return #oldest
end

-- Adds a step of the owner with its text, and before it other parts, a list that may be absent; returns the fields of the run's record that
-- the caller writes, { field, value }.
local function trace_step(run, checkpoint, text, before)
  if not run.traced then return {} end
  local part = 's ' .. now_ms_text .. ' ' .. checkpoint .. '\n' .. text
  local key, bytes = trace_key(run.run_id), tonumber(run.traced) + #part
  local added = before or {}
  added[#added + 1] = part
  local parts = redis.call('RPUSH', key, unpack(added))
  for _ = 1, MAX_REMOVED do
    if (parts <= MAX_TRACE_PARTS and bytes <= MAX_TRACE_BYTES) or parts <= FIRST_TRACE_PARTS + 2 then break end
    bytes = bytes - drop_traced(key)
    parts = redis.call('LLEN', key)
  end
  return { 'traced', bytes }
end

-- Adds the end, with the last checkpoint, if one is written, and its text; '-' for a run without an owner. From now on the trace has a
-- deadline.
local function end_trace(run, status, checkpoint, text)
  if not run.traced then return end
  local queued = p.owner and '' or ' -'
  add_trace(run, 'e', now_ms_text, checkpoint or '-', status .. queued .. (text and '\n' .. text or ''))
  redis.call('PEXPIRE', trace_key(run.run_id), p.trace_ttl_ms or p.events_ttl_ms)
end

-- Most bytes of the texts of a user, or of a thread, that requests refer to; above it those that end first are removed.
local MAX_TEXT_BYTES = 8 * 1024 * 1024

-- Returns how many bytes remain.
local function drop_trace_text(key, hash)
  local left = redis.call('HINCRBY', key, 'bytes', -redis.call('HSTRLEN', key, hash))
  redis.call('HDEL', key, hash)
  return left
end

-- Removes texts whose time is over, and more of them when all, which have so many bytes, are too large.
local function prune_trace_texts(key, ends, bytes)
  for _, hash in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', now_ms, 'LIMIT', 0, MAX_REMOVED)) do
    bytes = drop_trace_text(key, hash)
    redis.call('ZREM', ends, hash)
  end
  for _ = 1, MAX_REMOVED do
    if bytes <= MAX_TEXT_BYTES then break end
    local hash = redis.call('ZPOPMIN', ends)[1]
    if not hash then break end
    bytes = drop_trace_text(key, hash)
  end
end

-- Stores texts that requests refer to, read by `take`, once by their hash. `lists`, absent for none: { ttl_ms, hashes, key, ends }, without
-- keys the texts of the thread itself.
-- @rare
local function store_trace_texts(lists)
  for _, list in ipairs(lists or {}) do
    local key = list.key or record_key .. ':trace-texts'
    local ends = list.ends or key .. ':ends'
    local added, bytes = 0, 0
    for _, hash in ipairs(list.hashes) do
      local text = take()
      if redis.call('EXISTS', key) == 0 then
        redis.call('HSET', key, hash, text, 'bytes', #text)
        added, bytes = #text, #text
      elseif redis.call('HSETNX', key, hash, text) == 1 then
        added = added + #text
        bytes = redis.call('HINCRBY', key, 'bytes', #text)
      end
      redis.call('ZADD', ends, now_ms + list.ttl_ms, hash)
    end
    -- The first ones, as of each new thread, have none beside them that could be removed.
    if bytes > added or bytes > MAX_TEXT_BYTES then prune_trace_texts(key, ends, bytes) end
    redis.call('PEXPIRE', key, list.ttl_ms)
    redis.call('PEXPIRE', ends, list.ttl_ms)
  end
end
