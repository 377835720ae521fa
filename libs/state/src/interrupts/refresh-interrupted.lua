#!lua flags=allow-oom
--[[ Lists a thread among those that wait for answers as its record says: an entry of a thread that was deleted, or that waits for
  nothing, is removed.
  KEYS, ARGV  thread.lua; parameter interrupted (interrupts.lua)
  Reply  {'ok', how many interrupts are open}; {'damaged', key}: nothing is written ]]
-- @include ../includes/thread.lua
-- @include ../includes/clock.lua
-- @include ../interrupts/interrupts.lua
local damage = damaged_thread()
if damage then return { 'damaged', damage } end
local record = read_thread()
local open = open_in(record and record['v:interrupts'])
list_interrupts(open, pending_member, record and record.question, record_key)
return { 'ok', #open }
