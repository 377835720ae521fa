-- Redis keeps what a script wrote before an error, so types are compared before the first write.
local function is_damaged(key, kind)
  local found = redis.call('TYPE', key).ok
  return found ~= 'none' and found ~= kind
end
