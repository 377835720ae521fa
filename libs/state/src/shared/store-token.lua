#!lua
--[[ Stores an access token and releases its lock, if the caller holds the lock.
  KEYS[1] token, hash
  ARGV    owner, record ('' to leave the stored one), ms to live
  Reply  1; 0 when the owner does not hold the lock: nothing is written ]]
local owner, record, ttl_ms = unpack(ARGV)
local lock = redis.call('HGET', KEYS[1], 'lock')
if not lock or lock:match('^(.*):%d+$') ~= owner then return 0 end
redis.call('HDEL', KEYS[1], 'lock')
if record ~= '' then
  redis.call('HSET', KEYS[1], 'record', record)
  redis.call('PEXPIRE', KEYS[1], ttl_ms)
end
return 1
