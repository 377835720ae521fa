#!lua flags=allow-oom
--[[ Drops the generations of a thread's files that neither the head, a checkpoint nor the rollback of a run needs. A thread without
  files, as one that was temporary, is taken out of the list of those that have some.
  KEYS    the thread's files, hash (generations.lua); threads of the user with files, sorted set
  ARGV    thread id
  Reply  the trees that are left, each 'work uploads' ]]
local flat = redis.call('HGETALL', KEYS[1])
if #flat == 0 then redis.call('ZREM', KEYS[2], ARGV[1]) end
local named, trees = {}, {}
for index = 1, #flat, 2 do
  local name = flat[index]
  local names = name == 'generation' or name == 'before' or name:sub(1, 2) == 'c:'
  if names then named[flat[index + 1]:match('^%S*')] = true end
end
for index = 1, #flat, 2 do
  local generation = flat[index]:match('^g:(.+)$')
  if generation and named[generation] then trees[#trees + 1] = flat[index + 1]
  elseif generation then redis.call('HDEL', KEYS[1], flat[index]) end
end
return trees
