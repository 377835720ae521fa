-- Generations of a thread's files (ports/file-generations.ts). The hash at `<record of the thread>:files` has
--   home         id of these files; a later thread with the same id has another one
--   generation   of the head; work, uploads: keys of its manifests, '' for none
--   bytes, files as of the last commit
--   reset_at     the last generation that went back to the work of an earlier one, '0' for none
--   captured     the newest generation that a checkpoint names
--   complete     µs of the first commit, when there were no files before it: checkpoints of before had none; '' when nobody knows
--   machine      of the manager that committed last
--   unpublished  'manager machine ms': changes of that manager are not stored yet
--   g:<n>        'work uploads' of a generation that the head or a checkpoint names
--   c:<id>       the generation of a checkpoint
local function set_generation(key, number, work, uploads)
  redis.call('HSET', key, 'generation', number, 'work', work, 'uploads', uploads, 'g:' .. number, work .. ' ' .. uploads)
end

local function trees_of(key, generation)
  local text = generation and redis.call('HGET', key, 'g:' .. generation)
  if not text then return nil end
  return text:match('^(%S*) (%S*)$')
end

-- Drops the head's generation when no checkpoint names it and another one replaces it.
local function replace_generation(key, head, number, work, uploads)
  if head.generation and head.captured ~= head.generation then redis.call('HDEL', key, 'g:' .. head.generation) end
  set_generation(key, number, work, uploads)
end

local function read_files_head(key)
  local names = { 'home', 'generation', 'work', 'uploads', 'bytes', 'files', 'reset_at', 'captured', 'complete', 'unpublished', 'machine' }
  local values = redis.call('HMGET', key, unpack(names))
  if not values[1] then return nil end
  local head = {}
  for index, name in ipairs(names) do head[name] = values[index] or '' end
  return head
end

-- Enters that a new checkpoint has the files of now.
local function capture_files(key, checkpoint)
  local generation = redis.call('HGET', key, 'generation')
  if generation then redis.call('HSET', key, 'c:' .. checkpoint, generation, 'captured', generation) end
end

-- @include ../includes/checkpoint-text.lua
-- Whether a checkpoint without a generation is from before the first file; '' is before the first checkpoint. A later one was written
-- by a process that does not note generations, so nobody knows its files.
local function had_no_files(head, checkpoint)
  if head.complete == '' then return false end
  return checkpoint == '' or micros_of(checkpoint) <= tonumber(head.complete)
end

-- Makes the work of a checkpoint the head's; uploads stay. Without a checkpoint, or for one from before the first file, there is none.
local function reset_files(key, checkpoint)
  local head = read_files_head(key)
  if not head then return end
  local at = checkpoint ~= '' and redis.call('HGET', key, 'c:' .. checkpoint)
  if not at and not had_no_files(head, checkpoint) then return end
  local work = trees_of(key, at) or ''
  if work == head.work and head.unpublished == '' then return end
  local number = string.format('%.0f', head.generation + 1)
  replace_generation(key, head, number, work, head.uploads)
  redis.call('HSET', key, 'reset_at', number)
  redis.call('HDEL', key, 'unpublished')
end
