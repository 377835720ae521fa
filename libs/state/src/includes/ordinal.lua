-- The number of a run in its thread, by which events of all runs are ordered: in the order of admission; a delayed run gets
-- it at its time. A thread whose runs an earlier version admitted without numbers begins after them. The caller writes the
-- number into the thread's record as `admitted`. Needs thread.lua.
local function next_ordinal(record)
  return text_of((tonumber(record and record.admitted) or redis.call('ZCARD', runs_key)) + 1)
end
