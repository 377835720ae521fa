#!lua
--[[ Puts a thread at the end of its user's queue for a slot; a thread that is in it stays where it is.
  KEYS    ready, capped, the user's waiting, his running (turn-queue.lua)
  ARGV    prefix of the users' keys, user, thread
  Reply   {'ok'}; {'damaged', key}: nothing is written ]]
-- @include ../includes/clock.lua
-- @include ../includes/types.lua
local turns = { ready = KEYS[1], capped = KEYS[2], users = ARGV[1] }
-- @include turn-queue.lua
local user, thread = ARGV[2], ARGV[3]
local damage = damaged_turns(user)
if damage then return { 'damaged', damage } end
queue_turn(user, thread)
return { 'ok' }
