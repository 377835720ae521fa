#!lua flags=no-writes
--[[ Reads a part of a run's event log.
  KEYS[1] the log, a stream; ARGV[1] number after which to begin; ARGV[2] maximum number of entries
  Reply  {{id, field, text, id, field, text, …}, number of the oldest entry, newest number}; numbers 0: there is no log ]]
local function seq_of(entries) return #entries > 0 and tonumber(entries[1][1]:match('^%d+')) or 0 end

local after, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local entries = redis.call('XRANGE', KEYS[1], '(' .. ARGV[1] .. '-0', '+', 'COUNT', limit)
-- A read from the beginning that is not full has both ends.
local is_all = after == 0 and #entries < limit
local first = seq_of(is_all and entries or redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1))
local last = seq_of(is_all and { entries[#entries] } or redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1))
local flat = {}
for _, entry in ipairs(entries) do
  flat[#flat + 1] = entry[1]
  flat[#flat + 1] = entry[2][1]
  flat[#flat + 1] = entry[2][2]
end
return { flat, first, last }
