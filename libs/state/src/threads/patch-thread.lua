#!lua
--[[ Replaces the metadata of a thread, if it is still the one that the new one is based on.
  KEYS, ARGV  thread.lua; parameter touch (whether updated_at moves); texts: metadata expected, new metadata
  Reply  {'ok', thread record}; {'changed'}, {'no_thread'}, {'damaged', key}: nothing is written ]]
-- @include ../includes/thread.lua
-- @include ../includes/clock.lua
-- @include ../includes/events.lua
-- @include ../includes/ending.lua
local damage = damaged_thread()
if damage then return { 'damaged', damage } end
local record = read_thread()
if not record then return { 'no_thread' } end
if record.metadata ~= take() then return { 'changed' } end
redis.call('HSET', record_key, 'metadata', take())
if p.touch then touch(record) end
return { 'ok', redis.call('HGETALL', record_key) }
