-- A change of the thread's goal that a client asked for while a run was in flight: the field `goal_change` of the thread's
-- record, absent for none, which the owner reads with its claim and its commits. p.goal_change is the text of the change that
-- the written checkpoint contains. Needs thread.lua.
local function has_goal_change(record) return record.goal_change and record.goal_change ~= p.goal_change end

-- Removes the change that the checkpoint contains; a newer one stays.
local function settle_goal_change(record)
  if not p.goal_change or record.goal_change ~= p.goal_change then return end
  record.goal_change = nil
  redis.call('HDEL', record_key, 'goal_change')
end
