#!lua
--[[ Releases a lock, if the caller is its owner.
  KEYS[1] lock, string with a deadline
  ARGV    owner
  Reply  1; 0 when the owner does not have it: nothing is written ]]
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1
