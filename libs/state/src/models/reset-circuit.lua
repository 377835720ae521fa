#!lua flags=allow-oom
--[[ Closes the circuit of a model, and says so in the audit stream.
  KEYS[1] circuit; KEYS[2] audit stream; ARGV[1] line, a JSON object to which the time is added, ARGV[2] number of lines that are retained
  Reply  nil ]]
-- @include ../includes/clock.lua
redis.call('DEL', KEYS[1])
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', 'line', '{"at":"' .. now_iso .. '",' .. ARGV[1]:sub(2))
return nil
