-- The right to write without an owner: an existing thread with no current run, no queue and no lease; with p.ended also a
-- temporary thread that has ended.
-- @include thread.lua
local function refused_idle()
  local damage = damaged_thread()
  if damage then return { 'damaged', damage } end
  local record = p.ended and read_hash(record_key) or read_thread()
  if not record then return { 'no_thread' } end
  if record.current ~= '' or redis.call('LLEN', inbox_key) > 0 or redis.call('EXISTS', lease_key) == 1 then
    return { 'busy' }
  end
  return nil, record
end
