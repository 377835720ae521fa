#!lua
--[[ Takes tokens that a gateway has spent from a bucket that all gateways share. A bucket that is not known is full.
  KEYS[1] bucket, hash: `level` in tokens, `at` in ms
  ARGV    tokens spent, tokens added per second, most tokens, fewest tokens (a debt is negative)
  Reply   tokens that are left, as a decimal number; less than 0 for a debt ]]
-- @include ../includes/clock.lua
local spent, per_second, most, fewest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local level, at = unpack(redis.call('HMGET', KEYS[1], 'level', 'at'))
if level then
  local passed_ms = math.max(0, now_ms - tonumber(at))
  level = math.min(most, tonumber(level) + passed_ms * per_second / 1000)
else level = most end
level = math.max(level - spent, fewest)
local left = string.format('%.3f', level)
redis.call('HSET', KEYS[1], 'level', left, 'at', string.format('%d', now_ms))
redis.call('PEXPIRE', KEYS[1], string.format('%d', math.ceil((most - level) * 1000 / per_second) + 1000))
return left
