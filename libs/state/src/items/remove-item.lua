#!lua flags=allow-oom
--[[ Removes an item.
  KEYS  items.lua
  ARGV  member
  Reply  {'ok', 1}; {'ok', 0} when there is none; {'damaged', key}: nothing is written ]]
-- @include items.lua
local expired = has_expired(ARGV[1])
local removed = drop(ARGV[1])
purge()
return { 'ok', removed and not expired and 1 or 0 }
