#!lua flags=allow-oom
--[[ Removes a dead letter. Only the call that removes it writes to the audit.
  KEYS[1..2]  records, times (letters.lua)
  ARGV[1]     JSON object: id; audit (audit-line.lua), absent when the line is written already
  Reply       1 when it was there ]]
-- @include ../includes/clock.lua
-- @include ../includes/types.lua
-- @include letters.lua
local p = cjson.decode(ARGV[1])
-- @include audit-line.lua
if remove_letter({ records = KEYS[1], times = KEYS[2] }, p.id) == 0 then return 0 end
if p.audit then write_audit() end
return 1
