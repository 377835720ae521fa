#!lua
--[[ Creates a thread with the log, checkpoints, feed, metadata and status of another one, as it is or as it was at an older
  checkpoint, without its runs and their usage; with its files where these are in an object store. Memory extraction reads only
  messages added from now on.
  KEYS, ARGV  thread.lua; then record, log, checkpoints, order and feed of the new thread, and its memory jobs;
              parameters target (its id), at (the checkpoint it ends with; absent: the head), last_row (the last
              of the feed then), max_threads (0: no limit), interrupted (interrupts.lua), home and filed
              (copied-files.lua); text: its metadata, '' for the same
  Reply  {'ok', new thread record, bytes of its state, how many threads the user has, how many files it has, '' where
          these are on a volume}
         {'taken'}, {'many'}, {'busy'}, {'no_thread'}, {'no_checkpoint'}, {'erasing'}, {'damaged', key}: nothing is written ]]
-- @include ../includes/idle.lua
-- @include ../includes/clock.lua
-- @include ../includes/create.lua
-- @include ../includes/state-bytes.lua
-- @include ../interrupts/interrupts.lua
-- @include ../files/generations.lua
-- @include ../files/copied-files.lua
local refusal, record = refused_idle()
if refusal then return refusal end
local copies = { more_key(1), more_key(2), more_key(3), more_key(4), more_key(5), more_key(6) }
local files_key, copied_files = record_key .. ':files', more_key(1) .. ':files'
if redis.call('EXISTS', copied_files, unpack(copies)) > 0 then return { 'taken' } end
if is_being_erased(pending_member:match('^[^/]+') .. '/' .. p.target) then return { 'erasing' } end
if has_all_threads() then return { 'many' } end
if p.at and redis.call('HEXISTS', checkpoints_key, p.at) == 0 then return { 'no_checkpoint' } end
local copy, _, copied_checkpoints, copied_order, copied_feed, jobs = unpack(copies)

-- Removes what came after the checkpoint; unreferenced log entries are freed by the next sweep.
local function end_with(id)
  for _, newer in ipairs(redis.call('ZRANGEBYLEX', copied_order, '(' .. id, '+')) do
    redis.call('HDEL', copied_checkpoints, newer)
    redis.call('ZREM', copied_order, newer)
  end
  for number = p.last_row + 1, tonumber(redis.call('HGET', copied_feed, 'last') or 0) do
    local text = redis.call('HGET', copied_feed, number)
    local row = text and cjson.decode(text)
    if row then redis.call('HDEL', copied_feed, number, 'i:' .. (row.id or row[1])) end
  end
  for field in pairs(record) do
    if field:sub(1, 2) == 'v:' then redis.call('HDEL', copy, field) end
  end
  for name, entry in pairs(checkpoint_of(id, redis.call('HGET', checkpoints_key, id)).channels) do
    if is_listed(name) then redis.call('HSET', copy, 'v:' .. name, redis.call('HGET', log_key, 'c' .. entry)) end
  end
  redis.call('HSET', copy, 'head', id, 'status', 'idle', 'settled', 'idle')
  redis.call('HDEL', copy, 'goal_change')
end

for index, key in ipairs({ record_key, log_key, checkpoints_key, order_key, feed_key }) do
  redis.call('COPY', key, copies[index])
end
local metadata = take()
redis.call('HSET', copy, 'created_at', now_iso, 'updated_at', now_iso, 'pruned', '',
  'metadata', metadata ~= '' and metadata or record.metadata)
redis.call('HDEL', copy, 'epoch', 'delayed', 'steering', 'question', 'listed')
if p.at then end_with(p.at) end
local open = open_in(redis.call('HGET', copy, 'v:interrupts'))
if #open > 0 then
  redis.call('HSET', copy, 'status', 'interrupted', 'settled', 'interrupted')
  list_interrupts(open, pending_member:match('^[^/]+') .. '/' .. p.target, nil, copy)
end
redis.call('HSET', jobs, 'floor', record.next_entry - 1)
redis.call('ZADD', threads_key, now_ms, p.target)
local files = p.files and copy_files(files_key, copied_files, p.at or '', p.home, p.filed, p.target)
local newest = record.head ~= '' and redis.call('HGET', checkpoints_key, p.at or record.head)
local bytes = newest and state_bytes(p.at or record.head, newest) or 0
return { 'ok', redis.call('HGETALL', copy), bytes, redis.call('ZCARD', threads_key), files or '' }
