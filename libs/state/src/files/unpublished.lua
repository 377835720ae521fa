-- Enters that a manager has changes of a thread's files that are not stored yet, with the thread in the sorted set of its machine.
local function note_unpublished(key, noted_key, manager, machine, member, now_ms)
  redis.call('HSET', key, 'unpublished', manager .. ' ' .. machine .. ' ' .. string.format('%.0f', now_ms))
  redis.call('ZADD', noted_key, now_ms, member)
end
