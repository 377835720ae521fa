-- A change of the thread's goal that a client asked for and a run is to make: the field `goal_change` of the thread's record,
-- absent for none, which the owner reads with its claim and its commits. p.goal_change is the text of the change that the written
-- checkpoint contains. The run's record has the last one that the run made as `goal_made`. Needs thread.lua.
local function has_goal_change(record) return record.goal_change and record.goal_change ~= p.goal_change end

-- Removes the change that the checkpoint contains; a newer one remains. Appends the changed fields of the run's record.
-- @rare
local function settle_goal_change(record, fields)
  if not p.goal_change then return end
  if record.goal_change == p.goal_change then
    record.goal_change = nil
    redis.call('HDEL', record_key, 'goal_change')
  end
  append_to(fields, 'goal_made', p.goal_change)
end

-- What a client asked of the goal is no part of a run that is rolled back: the next run of the thread makes the change.
-- @rare
local function return_goal_change(record, run)
  if run.goal_made and not record.goal_change then redis.call('HSET', record_key, 'goal_change', run.goal_made) end
end
