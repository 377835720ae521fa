-- The parts of the record of an API key that scripts read and change; absent fields do not apply. Needs clock.lua.
local function has_ended(key)
  return key.revokedAt ~= nil or (key.expiresAt ~= nil and key.expiresAt <= now_ms)
end

-- Removes the digests by which a key is found, so that nobody is authenticated by it.
local function forget_digests(digests, key)
  redis.call('HDEL', digests, key.digest)
  if key.previous then redis.call('HDEL', digests, key.previous.digest) end
end
