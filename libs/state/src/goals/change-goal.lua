#!lua
--[[ Stores a change of the thread's goal for the run in flight, which makes it with one of its commits; it replaces an earlier one.
  KEYS, ARGV  thread.lua; text: the change as JSON
  Reply  {'ok'}
         {'idle'}: no run is in flight, {'no_thread'}, {'damaged', key}: nothing is written ]]
-- @include ../includes/idle.lua
local refusal = refused_idle()
if not refusal then return { 'idle' } end
if refusal[1] ~= 'busy' then return refusal end
redis.call('HSET', record_key, 'goal_change', take())
return { 'ok' }
