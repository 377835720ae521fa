#!lua flags=allow-oom
--[[ Drops the generations of a thread's files that neither the head, a checkpoint nor the rollback of a run needs.
  KEYS    the thread's files, hash (generations.lua)
  Reply  the trees that are left, each 'work uploads' ]]
local flat = redis.call('HGETALL', KEYS[1])
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
