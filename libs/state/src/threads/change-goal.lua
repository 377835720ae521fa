#!lua
--[[ Stores a change of the thread's goal for the run in flight, or for the run with the answer that the thread waits for; that run
  makes the change with one of its commits. It replaces an earlier one.
  KEYS, ARGV  thread.lua; text: the change as JSON
  Reply  {'ok'}
         {'idle'}: the thread waits for nothing and has no run in flight, {'no_thread'}, {'damaged', key}: nothing is written ]]
-- @include ../includes/idle.lua
local refusal, record = refused_idle()
if refusal and refusal[1] ~= 'busy' then return refusal end
-- An answer belongs to the checkpoint with what was asked, which therefore has to remain the head.
if not refusal and record.settled ~= 'interrupted' and not record.question then return { 'idle' } end
redis.call('HSET', record_key, 'goal_change', take())
return { 'ok' }
