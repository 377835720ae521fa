#!lua
--[[ Makes trees the head of a thread's files.
  KEYS    the thread's files, hash (generations.lua); threads of the user with files, sorted set; threads with changes that the machine
          has not stored, sorted set
  ARGV    home and generation of the head that is replaced ('' and '' for none), new home, manifests of work and uploads ('' for none),
          bytes, files, manager and machine that writes ('' for a person), '1' when changes of it remain, '1' when
          the machine takes the files over from another one, whose changes that are not stored are lost, '1' when every checkpoint without a
          generation is from before the first file, thread id, its member in the hash of erasures; keys of the thread's binding and of that hash
          ('' for none), which managers may only read
  Reply  {'ok', head}, {'changed', head or ''}: another head, nothing is written; {'fenced'}, {'erasing'}: nothing is written.
         A head is a list in the order of files-reply.ts ]]
-- @include ../includes/clock.lua
-- @include generations.lua
-- @include first-home.lua
-- @include unpublished.lua
local home, generation, new_home, work, uploads, bytes, files, manager, machine, remains, takes_over, complete, thread_id, member =
  unpack(ARGV, 1, 14)
local binding_key, erasing_key = ARGV[15], ARGV[16]
local key = KEYS[1]
if is_erasing(erasing_key, member) then return { 'erasing' } end
if manager ~= '' and redis.call('HGET', binding_key, 'manager') ~= manager then return { 'fenced' } end

-- @include head-reply.lua
-- Enters that all changes of the time before the run under way are in a generation.
local function settle_before(head, number)
  local run_id = head.before:match('^%S+ (%S+) late$')
  if run_id then redis.call('HSET', key, 'before', number .. ' ' .. run_id) end
end

-- Gives the checkpoints that were written while changes were not stored, and the beginning of a run, the work with these changes.
local function complete_late(head, number)
  if head.late ~= '' then
    for _, field in ipairs(redis.call('HKEYS', key)) do
      local checkpoint = field:match('^c:(.+)$')
      if checkpoint and checkpoint >= head.late then
        local then_named = redis.call('HGET', key, field)
        local _, uploads_then = trees_of(key, then_named)
        local name = number
        if uploads_then and uploads_then ~= uploads then
          name = number .. '/' .. then_named
          redis.call('HSET', key, 'g:' .. name, work .. ' ' .. uploads_then)
        end
        redis.call('HSET', key, field, name, 'captured', number)
      end
    end
    redis.call('HDEL', key, 'late')
  end
  settle_before(head, number)
end

local head = read_files_head(key)
if (head and head.home or '') ~= home or (head and head.generation or '') ~= generation then
  return { 'changed', head and head_list(head) or '' }
end
local number = string.format('%.0f', (head and tonumber(head.generation) or 0) + 1)
if not head then
  make_home(key, KEYS[2], { home = new_home, thread_id = thread_id, is_complete = complete == '1' })
end
replace_generation(key, head or {}, number, work, uploads)
redis.call('HSET', key, 'bytes', bytes, 'files', files)
-- A person's change says nothing about what a manager has yet to store.
if manager ~= '' then
  redis.call('HSET', key, 'machine', machine)
  local noted = head and head.unpublished ~= '' and head.unpublished:match('^%S+ (%S+)')
  if takes_over == '1' then
    redis.call('HSET', key, 'taken_at', number)
    if noted then redis.call('HSETNX', key, 'lost', head.unpublished:match('^%S+ %S+ (%S+)')) end
    redis.call('HDEL', key, 'unpublished', 'late')
    settle_before(head, head.before:match('^%S*'))
  elseif remains == '1' then
    if not noted then note_unpublished(key, KEYS[3], manager, machine, member, now_ms) end
  elseif not noted or noted == machine then
    redis.call('HDEL', key, 'unpublished')
    complete_late(head or { late = '', before = '' }, number)
  end
end
return { 'ok', head_list(read_files_head(key)) }
