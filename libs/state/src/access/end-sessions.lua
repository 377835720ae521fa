#!lua flags=allow-oom
--[[ Ends all sessions of an account.
  KEYS[1] account, hash; KEYS[2] its sessions, hash; KEYS[3] audit, stream
  ARGV    line of the audit, most lines
  Reply   how many were open; -1 when there is no such account: nothing is written ]]
-- @include ../includes/clock.lua
-- @include enter-change.lua
-- @include account-row.lua
if redis.call('HEXISTS', KEYS[1], 'email') == 0 then return -1 end
local open = live_sessions(KEYS[2])
redis.call('DEL', KEYS[2])
enter_change(KEYS[3], ARGV[1], ARGV[2])
return open
