-- The right to write for a run: p.owner, p.epoch and p.run are compared for equality; absent is not you.
-- @include thread.lua
local function fenced()
  local lease = redis.call('GET', lease_key)
  if not lease then return { 'fenced', 'no lease' } end
  if lease ~= p.owner .. ':' .. p.epoch then return { 'fenced', 'another owner' } end
  if redis.call('HGET', record_key, 'current') ~= p.run then return { 'fenced', 'another run' } end
  if redis.call('HEXISTS', run_key(p.run), 'run_id') == 0 then return { 'fenced', 'no run' } end
end

-- For scripts that write to the whole thread: damage, then the fence; the reply to refuse with, or nil.
local function refused()
  local damage = damaged_thread() or damaged_run(p.run)
  if damage then return { 'damaged', damage } end
  return fenced()
end
