#!lua flags=allow-oom
--[[ Gives a thread back: whichever manager proposes to have its sandbox next gets it. Driver and sandbox of the binding remain.
  KEYS[1] binding, hash
  ARGV    manager
  Reply  1 when the thread was bound to the manager, else 0: nothing is written ]]
if redis.call('HGET', KEYS[1], 'manager') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'manager', '')
return 1
