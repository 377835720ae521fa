-- Interrupts of a thread: the channel `interrupts`, of which the thread's record has a copy. Needs thread.lua, clock.lua.

-- The open interrupts in the text of the channel, which may be absent.
local function open_in(text)
  if not text or text == '' then return {} end
  return cjson.decode(text).open or {}
end

-- The text of the channel after a commit: `changed` are the fields { field, value, … } that the caller is about to write.
-- `moved`: the channels of the record are those of another checkpoint than when it was read.
local function asked_after(record, changed, moved)
  for index = 1, #changed, 2 do
    if changed[index] == 'v:interrupts' then return changed[index + 1] end
  end
  return (moved or record['v:interrupts']) and redis.call('HGET', record_key, 'v:interrupts')
end

-- Lists the thread as one that waits, or not. p.interrupted: {threads, due, waiting}, sorted sets of the user's waiting threads by
-- time, of all threads by their first deadline, and of all threads by time; absent where threads have no owner who could
-- answer. `question`: the last run ended with a question, which the next input answers. The record at `key` says whether it is
-- listed, as the channel may be gone long before the run that answered ends.
-- @rare
local function list_interrupts(open, member, question, key)
  if not p.interrupted then return end
  local first
  for _, asked in ipairs(open) do
    if asked.expires_ms and (not first or asked.expires_ms < first) then first = asked.expires_ms end
  end
  local thread = member:match('/(.*)$')
  if #open > 0 or question then
    redis.call('ZADD', p.interrupted.threads, 'NX', now_ms, thread)
    redis.call('ZADD', p.interrupted.waiting, 'NX', now_ms, member)
    redis.call('HSET', key, 'listed', '1')
  else
    redis.call('ZREM', p.interrupted.threads, thread)
    redis.call('ZREM', p.interrupted.waiting, member)
    redis.call('HDEL', key, 'listed')
  end
  if first then
    redis.call('ZADD', p.interrupted.due, first, member)
  else
    redis.call('ZREM', p.interrupted.due, member)
  end
end
