#!lua
--[[ Gives a lock up, for who holds it.
  KEYS[1] lock, string with a deadline
  ARGV    owner
  Reply  1; 0 when it is another's or nobody's: nothing is written ]]
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1
