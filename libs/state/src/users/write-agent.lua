#!lua
--[[ Creates a custom agent, or replaces the version that the writer saw. Versions are times, so that none is reused.
  KEYS[1], KEYS[2] agents, souls (AgentKeys in keys.ts)
  ARGV    name, version that is replaced (0: there is none), record (a JSON object without version and times), soul,
          key of the call that writes or '', most agents of the user, most calls recorded
  Reply  {'written', record}; {'repeated', record, soul}: this call wrote it already; {'removed'}: and it was removed since; {'changed'}: it has another version,
         {'full'}, {'damaged', key}: nothing is written ]]
-- @include ../includes/types.lua
for index = 1, 2 do
  if is_damaged(KEYS[index], 'hash') then return { 'damaged', KEYS[index] } end
end
-- @include ../includes/clock.lua
local name, expected, record, soul, call, max_agents, max_calls = unpack(ARGV)
local known = redis.call('HGET', KEYS[1], name)
local before = redis.call('HMGET', KEYS[2], 'c:' .. name, 's:' .. name)
local calls = {}
for word in (before[1] or ''):gmatch('%S+') do
  if word == call then return known and { 'repeated', known, before[2] or '' } or { 'removed' } end
  calls[#calls + 1] = word
end
local version, created_at = '0', now_iso
if known then version, created_at = known:match('^{"version":(%d+),"created_at":"([^"]+)"') end
if version ~= expected then return { 'changed' } end
if not known and redis.call('HLEN', KEYS[1]) >= tonumber(max_agents) then return { 'full' } end
if call ~= '' then calls[#calls + 1] = call end

local next_version = string.format('%.0f', math.max(tonumber(version) + 1, now_us))
local text = '{"version":' .. next_version .. ',"created_at":"' .. created_at .. '","updated_at":"' .. now_iso .. '",'
  .. record:sub(2)
redis.call('HSET', KEYS[1], name, text)
redis.call('HSET', KEYS[2], 's:' .. name, soul, 'c:' .. name,
  table.concat(calls, ' ', math.max(1, #calls - tonumber(max_calls) + 1)))
return { 'written', text }
