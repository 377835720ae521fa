#!lua
--[[ Makes a stored version of an assistant the current one.
  KEYS, ARGV[1]  assistant.lua
  ARGV[2]  number of the version
  Reply  {'written', meta, content}; {'none'}: there is no such assistant or version; {'damaged', key}: nothing is written ]]
-- @include assistant.lua
-- @include ../includes/clock.lua
local meta = read_meta()
local text = meta and redis.call('HGET', versions, version_field(tonumber(ARGV[2])))
if not text then return { 'none' } end
local content = text:match('^%S+ (.*)$')
meta.revision = string.format('%.0f', tonumber(meta.revision) + 1)
meta.current, meta.updated = ARGV[2], now_iso
return { 'written', write_head(meta, content), content }
