-- Commits one step of a run: events, checkpoint with its event, progress. Needs fence.lua.
-- Parameters: p.events (how many events each entry holds), p.commit (checkpoint.lua), p.input_committed, p.usage (usage.lua).
-- Texts read by `take`: entries of the log, checkpoint JSON, checkpoint event JSON, messages, channel values.
-- @include clock.lua
-- @include events.lua
-- @include feed.lua
-- @include checkpoint.lua
-- @include ending.lua
-- @include usage.lua
local function commit_step(record, run)
  local id, minted = mint_checkpoint(record)
  for _, events in ipairs(p.events) do add_event(run, take(), events) end
  local text, event = take(), take()
  mark_border(run)
  add_event(run, stamped('checkpoint_id', id, event))
  save_log(run, 'tries', 0, 'open', '', 'updated_at', now_iso,
    'input_committed', p.input_committed and '1' or run.input_committed, unpack(count_usage(run)))
  write_checkpoint(record, p.commit, { id, minted, text }, run)
  return id
end
