-- Redis does not roll back the writes of a script that fails, so types are checked before the first write.
local function is_damaged(key, kind)
  local found = redis.call('TYPE', key).ok
  return found ~= 'none' and found ~= kind
end
