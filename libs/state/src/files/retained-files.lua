#!lua flags=allow-oom
--[[ Drops the generations of a thread's files that neither the head nor a checkpoint names.
  KEYS    the thread's files, hash (generations.lua)
  Reply  the trees that are left, each 'work uploads' ]]
local flat = redis.call('HGETALL', KEYS[1])
local named, trees = {}, {}
for index = 1, #flat, 2 do
  if flat[index] == 'generation' or flat[index]:sub(1, 2) == 'c:' then named[flat[index + 1]] = true end
end
for index = 1, #flat, 2 do
  local generation = flat[index]:match('^g:(.+)$')
  if generation and named[generation] then trees[#trees + 1] = flat[index + 1]
  elseif generation then redis.call('HDEL', KEYS[1], flat[index]) end
end
return trees
