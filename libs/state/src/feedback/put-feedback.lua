#!lua
--[[ Writes feedback on a run.
  KEYS, ARGV  thread.lua; then the feedback of the thread: a hash of `f:<id>` '<created> <JSON>' and `r:<run>` the id of the feedback on
              the run as a whole, `n` how many; parameters run, id, replaces (whether it is on the run as a whole, and replaces that), max;
              texts: JSON
  Reply  {'ok', id, text}; {'no_thread'}, {'no_run'}, {'full'}, {'damaged', key}: nothing is written ]]
-- @include ../includes/thread.lua
-- @include ../includes/clock.lua
local feedback_key = more_key(1)
local damage = damaged_thread() or damaged_run(p.run) or (is_damaged(feedback_key, 'hash') and feedback_key)
if damage then return { 'damaged', damage } end
if not read_thread() then return { 'no_thread' } end
local of = redis.call('HGET', run_key(p.run), 'thread_id')
if of ~= thread_id then return { 'no_run' } end
local id = p.replaces and redis.call('HGET', feedback_key, 'r:' .. p.run) or p.id
local before = redis.call('HGET', feedback_key, 'f:' .. id)
local count = tonumber(redis.call('HGET', feedback_key, 'n') or 0)
if not before and count >= p.max then return { 'full' } end
local text = (before and before:match('^%S+') or now_iso) .. ' ' .. take()
redis.call('HSET', feedback_key, 'f:' .. id, text, 'n', text_of(before and count or count + 1))
if p.replaces then redis.call('HSET', feedback_key, 'r:' .. p.run, id) end
return { 'ok', id, text }
