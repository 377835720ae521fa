-- The number of a run in its thread, by which events of all runs are ordered: in the order of admission; a delayed run gets
-- it at its time. A thread whose runs an earlier version admitted without numbers begins after them. Needs thread.lua.
local function next_ordinal()
  local ordinal = redis.call('HINCRBY', record_key, 'admitted', 1)
  local unnumbered = ordinal == 1 and redis.call('ZCARD', runs_key) or 0
  return unnumbered == 0 and ordinal or redis.call('HINCRBY', record_key, 'admitted', unnumbered)
end
