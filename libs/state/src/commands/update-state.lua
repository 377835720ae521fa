#!lua
--[[ Writes a checkpoint to a thread that nobody owns.
  KEYS, ARGV  thread.lua; parameter commit (checkpoint.lua), kept_checkpoints
              texts: checkpoint JSON, checkpoint event JSON (nobody hears it), messages, channel values
  Reply  {'ok', checkpoint id, its time, log fields}
         {'stale'}, {'busy'}, {'no_thread'}, {'damaged', key}: nothing is written ]]
-- @include idle.lua
-- @include clock.lua
-- @include feed.lua
-- @include checkpoint.lua
-- @include events.lua
-- @include ending.lua
local refusal, record = refused_idle()
if refusal then return refusal end
if is_stale(record, p.commit) then return { 'stale' } end
local id, minted = mint_checkpoint(record)
local text = take()
take()
write_checkpoint(record, p.commit, { id, minted, text })
touch(record)
return { 'ok', id, now_iso, redis.call('HLEN', log_key) }
