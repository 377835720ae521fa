#!lua
--[[ Appends events to the log of the run that owns its thread. It runs for every flush of streamed tokens, so it names only the
  keys that it needs and reads no JSON.
  KEYS   lease of the thread, its owner, record of the run, log of the run
  ARGV   owner and epoch as the lease states them, lease in ms, number of the newest event that the writer knows ('' for unknown),
         maximum bytes of a log, id of the message being streamed as JSON ('' for none, '-' for unchanged),
         ids of discarded messages (JSON texts joined by ',', or ''); then for each entry how many events it holds, and its text
  Reply  {'ok', number of the first event}; {'fenced', reason}: nothing is written
         {'too_large'}: twice the maximum without a position to trim to; nothing is written ]]
-- Every key is read before the first write, or is the stream that is written first: no other check of types is needed.
-- A claim sets the lease, the epoch in it and the run's status in one step, so the lease and the status decide like fence.lua.
local lease_key, owner_key = KEYS[1], KEYS[2]
local mine, lease_ms, after, open, dropped = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[5], ARGV[6]
local p = { max_log_bytes = tonumber(ARGV[4]), after = after }
local function run_key() return KEYS[3] end
local function events_key() return KEYS[4] end
-- @include ../includes/events.lua
local lease = redis.call('GET', lease_key)
if lease and lease ~= mine then return { 'fenced', 'another owner' } end
if not lease and redis.call('GET', owner_key) ~= mine then return { 'fenced', 'no lease' } end
local fields = redis.call('HMGET', run_key(), 'status', 'seq', 'bytes', 'border', 'border_bytes')
if not fields[1] then return { 'fenced', 'no run' } end
if fields[1] ~= 'running' then return { 'fenced', 'another run' } end
local run = { seq = fields[2], bytes = fields[3], border = fields[4], border_bytes = fields[5] }
local events = 0
for index = 7, #ARGV, 2 do events = events + ARGV[index] end
local earlier = written_before(run, events)
if earlier == 'other' then return { 'fenced', 'another sequence' } end
if earlier then return { 'ok', after + 1 } end
if tonumber(run.bytes) > 2 * p.max_log_bytes then return { 'too_large' } end

local first = run.seq + 1
for index = 7, #ARGV, 2 do add_event(run, ARGV[index + 1], ARGV[index]) end
local changed = {}
if open ~= '-' then changed = { 'open', open } end
if dropped ~= '' then
  local before = redis.call('HGET', run_key(), 'dropped')
  changed[#changed + 1] = 'dropped'
  changed[#changed + 1] = before and before ~= '' and before .. ',' .. dropped or dropped
end
if not lease then redis.call('SET', lease_key, mine, 'PX', lease_ms) end
save_log(run, changed)
return { 'ok', first }
