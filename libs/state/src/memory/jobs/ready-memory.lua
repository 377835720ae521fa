#!lua flags=no-writes
--[[ Lists jobs that may be ready, longest waiting first.
  KEYS[1] due; ARGV debounce in ms, maximum number of jobs
  Reply  {number of jobs, ms until the next further one is ready, -1 when there is none, members…} ]]
-- @include ../../includes/clock.lua
local quiet = now_ms - ARGV[1]
local members = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', quiet, 'LIMIT', 0, ARGV[2])
local next_one = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. quiet, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return { redis.call('ZCARD', KEYS[1]), next_one[2] and math.ceil(next_one[2] - quiet) or -1, unpack(members) }
