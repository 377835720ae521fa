-- The processes that own leases. An owner is `<process id>.<unique per claim>`, or the second part alone where a process has
-- no lease of its own. The scripts that include this have as parameters, or nil without a lease of a process:
--   p.process           id of the caller's process
--   p.process_lease_ms  duration of such a lease
--   p.processes         key: sorted set, process id → end of its lease in ms
--   p.processes_since   key: hash, process id → since when, in ms, its lease has not lapsed
-- Both keys are declared by no script: who may only read them could not call it otherwise.
local function process_lease_end() return tonumber(redis.call('ZSCORE', p.processes, p.process) or 0) end

-- Whether this process may tell that others are dead. After an outage of Redis, or a jump of its clock, the leases of all have
-- lapsed; so only one whose own has not lapsed for a whole lease may.
local function may_judge()
  if not p.process or redis.call('ZCOUNT', p.processes, '-inf', now_ms) == 0 then return false end
  local since = tonumber(redis.call('HGET', p.processes_since, p.process) or now_ms)
  return process_lease_end() > now_ms and since + p.process_lease_ms <= now_ms
end
local judges

-- Whether the process that an owner names is dead: its lease has lapsed and was not released.
-- @rare
local function has_died(owner)
  if judges == nil then judges = may_judge() end
  local holder = judges and owner and owner:match('^([^.:]+)%.')
  local lease_end = holder and redis.call('ZSCORE', p.processes, holder)
  return lease_end and tonumber(lease_end) <= now_ms
end

-- Whether the process that an owner names may still return to what it owns under a lease that has lapsed, which is in ms. When
-- Redis was away, all leases have lapsed at once: a process that is not known to be dead has that long, from the return of its
-- own lease, to renew the others. What it acquired since lapses later than that.
-- @rare
local function may_return(owner, lease_ms)
  local holder = p.process and owner and owner:match('^([^.:]+)%.')
  local lease_end = holder and redis.call('ZSCORE', p.processes, holder)
  if not lease_end then return false end
  if tonumber(lease_end) <= now_ms then return not has_died(owner) end
  return tonumber(redis.call('HGET', p.processes_since, holder) or 0) + lease_ms > now_ms
end

-- Takes the lease of the caller's process where it has none, before something is owned under it.
local function take_process_lease()
  if not p.process or process_lease_end() > now_ms then return end
  redis.call('ZADD', p.processes, now_ms + p.process_lease_ms, p.process)
  redis.call('HSET', p.processes_since, p.process, now_ms)
end
