#!lua
--[[ Writes a checkpoint to a thread without an owner.
  KEYS, ARGV  thread.lua; parameters commit (checkpoint.lua), kept_checkpoints, from (the checkpoint that
              is built on, '' for none), max_state_bytes (0: no limit),
              added_bytes (size of the texts, before any was compressed), removed (ids of messages that leave the feed),
              sets_goal (the checkpoint has the goal that a client wants now: a change that no run has made is dropped)
              texts: checkpoint, checkpoint event JSON (not published), messages, channel values
  Reply  {'ok', checkpoint id, its time}
         {'large'}, {'stale'}, {'busy'}, {'no_thread'}, {'damaged', key}: nothing is written ]]
-- @include ../includes/idle.lua
-- @include ../includes/clock.lua
-- @include ../includes/feed.lua
-- @include ../includes/checkpoint.lua
-- @include ../includes/events.lua
-- @include ../includes/ending.lua
-- @include ../includes/state-bytes.lua
local refusal, record = refused_idle()
if refusal then return refusal end
if is_stale(record, p.commit) then return { 'stale' } end
if p.max_state_bytes > 0 then
  local base = p.from ~= '' and redis.call('HGET', checkpoints_key, p.from)
  local bytes = base and state_bytes(p.from, base) or 0
  if bytes + p.added_bytes > p.max_state_bytes then return { 'large' } end
end
local id, minted, created_at = mint_checkpoint(record)
local text = take()
take()
touch(record, unpack(write_checkpoint(record, p.commit, { id, minted, created_at, text })))
hide_rows(p.removed)
if p.sets_goal and record.goal_change then redis.call('HDEL', record_key, 'goal_change') end
return { 'ok', id, created_at }
