-- Commits one step of a run: events, checkpoint with its event. Needs fence.lua.
-- Parameters: p.events (how many events each entry holds), p.is_open (the last entry is a list without its end, in which the
-- checkpoint's event follows), p.commit (checkpoint.lua), p.input_committed. The caller counts usage (usage.lua).
-- Texts read by `take`: entries of the log, checkpoint, checkpoint event JSON, messages, channel values.
-- @include clock.lua
-- @include events.lua
-- @include feed.lua
-- @include checkpoint.lua
-- @include ending.lua
-- `ending`, which may be absent: an event that joins the list that is open, after the checkpoint's event.
-- Returns the id of the checkpoint and its time, and the changed fields of the thread's record, which the caller writes.
local function commit_step(record, run, ending)
  local id, minted, created_at = mint_checkpoint(record)
  local last
  for index, events in ipairs(p.events) do
    last = take()
    if index == #p.events and p.is_open then break end
    add_event(run, last, events)
    last = nil
  end
  local text, event = take(), take()
  local shown = '{"checkpoint_id":"' .. id .. '","created_at":"' .. created_at .. '",' .. event:sub(2)
  add_checkpoint_event(run, shown, last, p.events[#p.events], ending)
  local changed = write_checkpoint(record, p.commit, { id, minted, created_at, text }, run)
  return id, created_at, changed
end
