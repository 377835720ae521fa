-- Makes room for a run with the strategy interrupt or rollback. Needs thread.lua, clock.lua, events.lua, ending.lua.
-- Ends the queued runs and asks the current one to stop. Returns the ids of runs that were asked, and
-- {{id of a queued run that ended, number of its last event}, …}.
-- @rare
local function clear_thread(record, current, queued, strategy)
  local cancelled, ended = {}, {}
  for index, run in ipairs(queued) do ended[index] = end_queued(record, run, strategy, 'run:' .. p.run) end
  redis.call('DEL', inbox_key)
  if current then
    cancelled[1] = current.run_id
    set_cancel(current, strategy, 'run:' .. p.run)
  end
  return cancelled, ended
end
