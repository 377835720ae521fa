#!lua
--[[ Stores the body of an event, so that each attempt sends the same bytes.
  KEYS[1]  the event
  ARGV     token of the lease, body
  Reply    the body that is stored: of this call, or of an earlier one; nil when the lease is lost ]]
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return nil end
redis.call('HSETNX', KEYS[1], 'body', ARGV[2])
return redis.call('HGET', KEYS[1], 'body')
