#!lua
--[[ Creates an assistant, or writes a new version of it, which becomes the current one.
  KEYS, ARGV[1]  assistant.lua
  ARGV[2..]  revision that is replaced ('': create), content, most assistants, most versions of one, most bytes of the user
  Reply  {'written', meta, content}; {'exists', meta, content}: of a creation; {'changed'}; {'full'}; {'large', bytes of the user};
         {'damaged', key}: nothing is written ]]
-- @include assistant.lua
-- @include ../includes/clock.lua
local expected, content = ARGV[2], ARGV[3]
local max_assistants, max_versions, max_bytes = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local meta = read_meta()
if meta and expected == '' then
  return { 'exists', redis.call('HGET', heads, 'm:' .. id), redis.call('HGET', heads, 'c:' .. id) }
end
if expected ~= (meta and meta.revision or '') then return { 'changed' } end
if not meta and redis.call('HLEN', heads) / 2 >= max_assistants then return { 'full' } end

local newest = meta and meta.newest + 1 or 1
local text = now_iso .. ' ' .. content
local freed = redis.call('HSTRLEN', versions, version_field(newest - max_versions))
local bytes = tonumber(redis.call('HGET', versions, '#') or 0) + #text
if bytes - freed > max_bytes then return { 'large', bytes - #text } end

drop_version(newest - max_versions)
redis.call('HSET', versions, version_field(newest), text)
redis.call('HINCRBY', versions, '#', #text)
return { 'written', write_head({
  revision = string.format('%.0f', meta and tonumber(meta.revision) + 1 or 1),
  current = string.format('%.0f', newest),
  newest = newest,
  created = meta and meta.created or now_iso,
  updated = now_iso,
}, content), content }
