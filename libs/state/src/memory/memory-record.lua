-- Changes a memory. Needs p: agent, new_era (whether a new era begins), max_changes and max_bytes of the history.
--   KEYS[first..first+6]  record (hash: document, revision, era), history, agents, reports, aside 0 to 2, in the
--   order of MemoryKeys (keys.ts)
-- @include ../includes/types.lua
-- @include ../includes/clock.lua
local function damaged_memory(first)
  for index, kind in ipairs({ 'hash', 'list', 'set', 'list' }) do
    if is_damaged(KEYS[first + index - 1], kind) then return KEYS[first + index - 1] end
  end
end

local function revision_of(first)
  return tonumber(redis.call('HGET', KEYS[first], 'revision') or 0)
end

-- Writes the document and the change (a JSON object without revision and time); returns revision, era, time.
local function save_memory(first, document, change)
  local known = redis.call('HMGET', KEYS[first], 'revision', 'era')
  local revision = string.format('%.0f', math.max(now_us, tonumber(known[1] or 0) + 1))
  local era = (p.new_era or not known[2]) and revision or known[2]
  redis.call('HSET', KEYS[first], 'document', document, 'revision', revision, 'era', era)
  redis.call('SADD', KEYS[first + 2], p.agent)
  redis.call('LPUSH', KEYS[first + 1], '{"revision":' .. revision .. ',"at":"' .. now_iso .. '",' .. change:sub(2))
  redis.call('LTRIM', KEYS[first + 1], 0, p.max_changes - 1)
  local bytes = 0
  for index, entry in ipairs(redis.call('LRANGE', KEYS[first + 1], 0, -1)) do
    bytes = bytes + #entry
    if index > 1 and bytes > p.max_bytes then
      redis.call('LTRIM', KEYS[first + 1], 0, index - 2)
      break
    end
  end
  return revision, era
end
