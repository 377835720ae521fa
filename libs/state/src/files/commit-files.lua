#!lua
--[[ Makes trees the head of a thread's files.
  KEYS    the thread's files, hash (generations.lua); threads of the user with files, sorted set
  ARGV    home and generation of the head that is replaced ('' and '' for none), new home, manifests of work and uploads ('' for none),
          bytes, files, manager and machine that writes ('' for a person), '1' when changes of it remain, '1' when every checkpoint without a
          generation is from before the first file, thread id, its member in the hash of erasures; keys of the thread's binding and of that hash
          ('' for none), which managers may only read
  Reply  {'ok', head}, {'changed', head or ''}: another head, nothing is written; {'fenced'}, {'erasing'}: nothing is written.
         A head is a list in the order of files-reply.ts ]]
-- @include ../includes/clock.lua
-- @include generations.lua
local home, generation, new_home, work, uploads, bytes, files, manager, machine, remains, complete, thread_id, member = unpack(ARGV, 1, 13)
local binding_key, erasing_key = ARGV[14], ARGV[15]
local key = KEYS[1]
if erasing_key ~= '' then
  local found = redis.call('HMGET', erasing_key, member, member:match('^[^/]+'))
  if found[1] or found[2] then return { 'erasing' } end
end
if manager ~= '' and redis.call('HGET', binding_key, 'manager') ~= manager then return { 'fenced' } end

-- @include head-reply.lua
local head = read_files_head(key)
if (head and head.home or '') ~= home or (head and head.generation or '') ~= generation then
  return { 'changed', head and head_list(head) or '' }
end
local number = string.format('%.0f', (head and tonumber(head.generation) or 0) + 1)
if not head then
  redis.call('HSET', key, 'home', new_home, 'reset_at', '0', 'complete', complete == '1' and string.format('%.0f', now_us) or '')
  redis.call('ZADD', KEYS[2], now_ms, thread_id)
end
replace_generation(key, head or {}, number, work, uploads)
redis.call('HSET', key, 'bytes', bytes, 'files', files)
-- A person's change says nothing about what a manager has yet to store.
if manager ~= '' then
  redis.call('HSET', key, 'machine', machine)
  if remains ~= '1' then redis.call('HDEL', key, 'unpublished')
  elseif not head or head.unpublished == '' then
    redis.call('HSET', key, 'unpublished', manager .. ' ' .. machine .. ' ' .. string.format('%.0f', now_ms))
  end
end
return { 'ok', head_list(read_files_head(key)) }
