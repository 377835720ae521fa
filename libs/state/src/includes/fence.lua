-- The right to write for a run: p.owner, p.epoch and p.run are compared for equality. A lease that is absent has lapsed,
-- maybe only because the clock of Redis jumped: it still belongs to the owner that `owner_key` names, as every claim
-- overwrites that key, and a release removes it.
-- @include thread.lua
local mine = p.owner .. ':' .. p.epoch
local has_lapsed = false
-- Returns the refusal, or nil. `thread`: the record of the thread, or its fields `current` and `epoch`.
local function fenced(thread)
  local lease = redis.call('GET', lease_key)
  if lease and lease ~= mine then return { 'fenced', 'another owner' } end
  if not lease and redis.call('GET', owner_key) ~= mine then return { 'fenced', 'no lease' } end
  if not thread or thread.epoch ~= p.epoch then return { 'fenced', 'another owner' } end
  if thread.current ~= p.run then return { 'fenced', 'another run' } end
  has_lapsed = not lease
end

-- The fence of a script that needs no more of the records.
local function fenced_briefly()
  local fields = redis.call('HMGET', record_key, 'current', 'epoch')
  local refusal = fenced({ current = fields[1], epoch = fields[2] })
  if not refusal and redis.call('HEXISTS', run_key(p.run), 'run_id') == 0 then return { 'fenced', 'no run' } end
  return refusal
end

-- Checks for damage, then the fence, in scripts that write to the whole thread. Returns the refusal; or nil, the records of
-- the thread and of the run.
local function refused()
  local damage = damaged_thread() or damaged_run(p.run)
  if damage then return { 'damaged', damage } end
  local record = read_hash(record_key)
  local refusal = fenced(record)
  if refusal then return refusal end
  local run = read_run(p.run)
  if not run then return { 'fenced', 'no run' } end
  return nil, record, run
end

-- Sets a lapsed lease again, for p.lease_ms, once all checks are passed.
local function retake_lease()
  if has_lapsed then redis.call('SET', lease_key, mine, 'PX', p.lease_ms) end
end

-- Releases the thread: from now on it has no owner.
local function release_lease() redis.call('DEL', lease_key, owner_key) end
