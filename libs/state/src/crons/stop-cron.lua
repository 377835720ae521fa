#!lua flags=allow-oom
--[[ Stops the schedule of a cron for the agent of a run that the cron has started: until it is enabled again it has no due time.
  Each run does so once, so that a call that a takeover repeats does not stop a cron that a person has enabled meanwhile.
  KEYS[1..2]  lease of the run's thread, last claim of the thread (epoch.lua)
  KEYS[3..5]  record, runs (list), due crons of all users
  ARGV        epoch of the lease, run id, member of the due crons, the reason
  Reply  {'stopped'}, also when this run has done so before; {'over'}: the cron has no due time; {'foreign'}: it is gone or has
         not started this run; {'fenced', reason}, {'damaged', key}: nothing is written ]]
-- @include ../executions/epoch.lua
-- @include ../includes/clock.lua
-- @include ../includes/types.lua
local record_key, runs_key, due_set = KEYS[3], KEYS[4], KEYS[5]
local epoch, run_id, member, reason = unpack(ARGV)
if not is_owned_under(epoch, KEYS[1], KEYS[2]) then return { 'fenced', 'another epoch' } end
for index, kind in ipairs({ 'hash', 'list', 'zset' }) do
  if is_damaged(KEYS[index + 2], kind) then return { 'damaged', KEYS[index + 2] } end
end

-- The entry of the run, and its index in the list.
local function entry_of_run()
  for index, text in ipairs(redis.call('LRANGE', runs_key, 0, -1)) do
    local entry = cjson.decode(text)
    if entry.runId == run_id then return entry, index - 1 end
  end
end

local entry, index = entry_of_run()
local due = redis.call('HGET', record_key, 'due')
if not entry or not due then return { 'foreign' } end
if entry.hasStopped then return { 'stopped' } end
if due == '' then return { 'over' } end
entry.hasStopped = true
redis.call('LSET', runs_key, index, cjson.encode(entry))
redis.call('HSET', record_key, 'due', '', 'retries', '0', 'stopped_by', run_id, 'last_error', reason, 'updated_at', now_iso)
-- What a user or another process has read before is another decision.
redis.call('HINCRBY', record_key, 'version', 1)
redis.call('ZREM', due_set, member)
return { 'stopped' }
