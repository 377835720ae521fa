#!lua flags=no-writes
--[[ Reads the account of a session.
  KEYS[1] account, hash
  KEYS[2] its sessions, hash
  ARGV    digest
  Reply   {e-mail, '1' for an administrator, '1' for a remembered one}; false when it is over or never was ]]
-- @include ../includes/clock.lua
local session = redis.call('HGET', KEYS[2], ARGV[1])
if not session then return false end
local ends, remembered = session:match('^%d+:(%d+):(%d)$')
if tonumber(ends) <= now_ms then return false end
local account = redis.call('HMGET', KEYS[1], 'email', 'admin')
if not account[1] then return false end
return { account[1], account[2], remembered }
