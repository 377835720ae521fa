-- Whether a thread is owned under `epoch`: by its lease, or, when that has lapsed, by the last claim, as long as it was
-- not released.
local function is_owned_under(epoch, lease_key, owner_key)
  local owner = redis.call('GET', lease_key) or redis.call('GET', owner_key)
  return owner and owner:match(':(%d+)$') == epoch
end
