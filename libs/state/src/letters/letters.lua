-- The dead letters that gateways list. Needs clock.lua, types.lua. `letters`: { records, times, max }
--   records  key: hash, id → JSON
--   times    key: sorted set, id → ms when the work was given up
--   max      how many there are at most: above it the oldest is removed
-- @rare
local function damaged_letters(letters, list)
  if list and is_damaged(list, 'list') then return list end
  if is_damaged(letters.records, 'hash') then return letters.records end
  if is_damaged(letters.times, 'zset') then return letters.times end
end

local function remove_letter(letters, id)
  redis.call('ZREM', letters.times, id)
  return redis.call('HDEL', letters.records, id)
end

-- @rare
local function add_letter(letters, id, text)
  redis.call('HSET', letters.records, id, text)
  redis.call('ZADD', letters.times, now_ms, id)
  for _, old in ipairs(redis.call('ZRANGE', letters.times, 0, -letters.max - 1)) do remove_letter(letters, old) end
end
