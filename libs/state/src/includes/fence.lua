-- The right to write for a run: p.owner, p.epoch and p.run are compared for equality. A lease that is absent has lapsed,
-- maybe only because the clock of Redis jumped: it still belongs to the owner that `owner_key` names, as every claim
-- overwrites that key, and a release removes it.
-- @include thread.lua
local mine = p.owner .. ':' .. p.epoch
local has_lapsed = false
local function fenced()
  local lease = redis.call('GET', lease_key)
  if lease and lease ~= mine then return { 'fenced', 'another owner' } end
  if not lease and redis.call('GET', owner_key) ~= mine then return { 'fenced', 'no lease' } end
  local record = redis.call('HMGET', record_key, 'current', 'epoch')
  if record[2] ~= p.epoch then return { 'fenced', 'another owner' } end
  if record[1] ~= p.run then return { 'fenced', 'another run' } end
  if redis.call('HEXISTS', run_key(p.run), 'run_id') == 0 then return { 'fenced', 'no run' } end
  has_lapsed = not lease
end

-- Checks for damage, then the fence, in scripts that write to the whole thread; returns the refusal, or nil.
local function refused()
  local damage = damaged_thread() or damaged_run(p.run)
  if damage then return { 'damaged', damage } end
  return fenced()
end

-- Sets a lapsed lease again, for p.lease_ms, once all checks are passed.
local function retake_lease()
  if has_lapsed then redis.call('SET', lease_key, mine, 'PX', p.lease_ms) end
end

-- Releases the thread: from now on it has no owner.
local function release_lease() redis.call('DEL', lease_key, owner_key) end
