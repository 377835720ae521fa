-- Generations of a thread's files (ports/file-generations.ts). The hash at `<record of the thread>:files` has
--   home         id of these files; a later thread with the same id has another one
--   generation   of the head; work, uploads: keys of its manifests, '' for none
--   bytes, files as of the last commit
--   reset_at     the last generation that went back to the work of an earlier one, '0' for none
--   taken_at     the generation with which another machine took the files over, '0' for none
--   captured     the newest generation that a checkpoint names
--   before       'generation run' that the run under way found, absent for none: a rollback brings that work back. 'generation run late'
--                while changes of the time before it are not stored
--   late         the first checkpoint that was written while changes of a manager were not stored: the commit that stores them completes it
--                and later ones
--   complete     µs of the first commit, when there were no files before it: checkpoints of before had none; '' when nobody knows
--   machine      of the manager that committed last
--   lost         ms since which changes are lost that a machine had not stored, until the result of a command says so
--   unpublished  'manager machine ms': changes of that manager are not stored yet
--   g:<n>        'work uploads' of a generation (g:<n>/<m>: work of n with the uploads of m) that the head, a checkpoint or `before` names
--   c:<id>       the generation of a checkpoint
local function set_generation(key, number, work, uploads)
  redis.call('HSET', key, 'generation', number, 'work', work, 'uploads', uploads, 'g:' .. number, work .. ' ' .. uploads)
end

local function trees_of(key, generation)
  local text = generation and redis.call('HGET', key, 'g:' .. generation)
  if not text then return nil end
  return text:match('^(%S*) (%S*)$')
end

-- Drops the head's generation when nothing names it and another one replaces it.
local function replace_generation(key, head, number, work, uploads)
  if head.generation and head.captured ~= head.generation and head.before:match('^%S*') ~= head.generation then
    redis.call('HDEL', key, 'g:' .. head.generation)
  end
  set_generation(key, number, work, uploads)
end

local function read_files_head(key)
  local names = { 'home', 'generation', 'work', 'uploads', 'bytes', 'files', 'reset_at', 'captured', 'before', 'late',
    'complete', 'unpublished', 'machine', 'taken_at', 'lost' }
  local values = redis.call('HMGET', key, unpack(names))
  if not values[1] then return nil end
  local head = {}
  for index, name in ipairs(names) do head[name] = values[index] or '' end
  return head
end

-- Enters that a new checkpoint has the files of now.
local function capture_files(key, checkpoint)
  local generation, unpublished = unpack(redis.call('HMGET', key, 'generation', 'unpublished'))
  if not generation then return end
  redis.call('HSET', key, 'c:' .. checkpoint, generation, 'captured', generation)
  if unpublished then redis.call('HSETNX', key, 'late', checkpoint) end
end

-- @include ../includes/checkpoint-text.lua
-- Whether a checkpoint without a generation is from before the first file; '' is before the first checkpoint. A later one was written
-- by a process that does not note generations, so nobody knows its files.
local function had_no_files(head, checkpoint)
  if head.complete == '' then return false end
  return checkpoint == '' or micros_of(checkpoint) <= tonumber(head.complete)
end

-- Makes work the head's; uploads stay. Also where it is the head's already, if a manager may have changes that it has not stored: these
-- are dropped by its working copy. Without a manager there are none, and files on a volume that were not imported yet stay.
local function reset_work(key, head, work)
  if work == head.work and head.unpublished == '' and head.machine == '' then return end
  local number = string.format('%.0f', head.generation + 1)
  replace_generation(key, head, number, work, head.uploads)
  redis.call('HSET', key, 'reset_at', number)
  redis.call('HDEL', key, 'unpublished', 'late')
end

-- Makes the work of a checkpoint the head's. Without a checkpoint, or for one from before the first file, there is none. For one whose
-- files are not stored yet everything stays.
local function reset_files(key, checkpoint)
  local head = read_files_head(key)
  if not head then return end
  local at = checkpoint ~= '' and redis.call('HGET', key, 'c:' .. checkpoint)
  if not at and not had_no_files(head, checkpoint) then return end
  if at and head.late ~= '' and checkpoint >= head.late then return end
  reset_work(key, head, trees_of(key, at) or '')
end

-- Notes the generation that a run finds when it begins. Returns the manager that has changes which are not stored yet, and its
-- machine, as 'manager machine'; nil for none.
local function note_files_before(key, run_id)
  local generation, unpublished = unpack(redis.call('HMGET', key, 'generation', 'unpublished'))
  if generation then redis.call('HSET', key, 'before', generation .. ' ' .. run_id .. (unpublished and ' late' or '')) end
  return unpublished and unpublished:match('^%S+ %S+') or nil
end

-- Makes the work that a run found the head's. Where none was noted, there were no files yet, or the run was begun by a process that
-- notes nothing: then it is the work of the checkpoint before the run. What is not stored yet of the time before the run is not lost:
-- everything stays then.
local function take_back_files(key, run_id, checkpoint)
  local generation, noted, late = (redis.call('HGET', key, 'before') or ''):match('^(%S+) (%S+) ?(%S*)')
  if noted == run_id and late ~= '' then return end
  local work = noted == run_id and trees_of(key, generation)
  if work then reset_work(key, read_files_head(key), work) else reset_files(key, checkpoint) end
end
