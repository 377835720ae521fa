#!lua flags=allow-oom
--[[ Notes in the trace of a run that a process has lost it; the process has no right to write anything else.
  KEYS[1] the trace, list
  ARGV    process, reason, most parts that the trace may have then
  Reply  1; 0: there is no trace, or it is full: nothing is written ]]
-- @include ../includes/clock.lua
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
local part = table.concat({ 'f', string.format('%.0f', now_ms), ARGV[1], ARGV[2] }, ' ')
return redis.call('RPUSHX', KEYS[1], part) > 0 and 1 or 0
