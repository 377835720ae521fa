-- The first record of a thread's files; needs clock.lua.
-- Whether the thread or its user is being deleted, by the hash of erasures ('' for none).
local function is_erasing(erasing_key, member)
  if erasing_key == '' then return false end
  local found = redis.call('HMGET', erasing_key, member, member:match('^[^/]+'))
  return (found[1] or found[2]) and true or false
end

-- is_complete: there were no files before
local function make_home(key, filed_key, first)
  redis.call('HSET', key, 'home', first.home, 'reset_at', '0', 'complete', first.is_complete and string.format('%.0f', now_us) or '')
  redis.call('ZADD', filed_key, now_ms, first.thread_id)
end
