-- An account as administrators see it. Needs clock.lua.
local function live_sessions(key)
  local count = 0
  for _, session in ipairs(redis.call('HVALS', key)) do
    if tonumber(session:match('^%d+:(%d+):')) > now_ms then count = count + 1 end
  end
  return count
end

-- {user id, e-mail, '1' for an administrator, ms of its creation or '', of the last sign-in or '', sessions}; nil when it is gone.
local function account_row(record, user_id)
  local email, admin, created, signed_in = unpack(redis.call('HMGET', record, 'email', 'admin', 'created', 'signed_in'))
  if not email then return nil end
  return { user_id, email, admin, created or '', signed_in or '', live_sessions(record .. ':sessions') }
end
