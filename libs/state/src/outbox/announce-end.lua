-- Announces the end of a run that has a webhook: the entry is written by the script that ends the run. Needs thread.lua,
-- clock.lua; p.outbox = { all, users, waiting, events }, the keys of outbox/outbox.lua and the prefix of the user's events,
-- completed by the run id.
local function has_webhook(run) return p.outbox and run.webhook and run.webhook ~= '' end

-- A key of the outbox with a foreign type, for scripts that end one of these runs.
-- @rare
local function damaged_outbox(runs)
  for _, run in ipairs(runs) do
    for _, key in ipairs(has_webhook(run) and { p.outbox.all, p.outbox.users, p.outbox.waiting } or {}) do
      if is_damaged(key, 'zset') then return key end
    end
  end
end

-- @rare
local function write_end_event(run, status)
  local user = pending_member:match('^[^/]*')
  redis.call('HSET', p.outbox.events .. run.run_id, 'url', run.webhook, 'thread_id', thread_id, 'assistant_id', run.assistant_id,
    'status', status, 'attempts', '0', 'created', text_of(now_ms), 'created_at', run.created_at, 'started', run.started or '',
    'ended_at', now_iso)
  redis.call('ZADD', p.outbox.all, now_ms, user .. '/' .. run.run_id)
  redis.call('ZADD', p.outbox.waiting, now_ms, run.run_id)
  redis.call('ZADD', p.outbox.users, 'LT', now_ms, user)
end

local function announce_end(run, status)
  if has_webhook(run) then write_end_event(run, status) end
end
