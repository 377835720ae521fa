#!lua
--[[ Admits a run: idempotency, thread, quotas, multitask strategy, base; then the record, the inbox, the pending set.
  KEYS        thread.lua; then the idempotency key, if any
  ARGV        thread.lua; parameters run, user, assistant, strategy, create (whether the thread may be created), temporary,
              api_key ('' for none), agent (ledger.lua), budgets and usage_prefix (absent without budgets),
              checkpoint ('' for none), before_first (the checkpoint id for the empty state), regenerates (the run
              whose turn is regenerated, '' for none), traceparent, body_hash, idempotency_ttl_ms (from the end of the run), max_queued,
              max_in_flight, max_pending, max_threads, max_state_bytes, max_stored (bytes; 0: no limit of these four),
              events_ttl_ms, max_log_bytes, kept_checkpoints; for strategies that end runs, and with a webhook or a delay, outbox
              (announce-end.lua) and delayed (delayed.lua); for a run with a webhook `webhook`: {url, max} (events
              of the user that may wait); for one that waits for its time `delay`: {ms, max} (such runs of the user), and delayed
              (delayed.lua); for one that a cron starts `cron` (cron-due.lua); for a run that continues a thread `resume`, the ids of the
              interrupts that it answers, `answered_by` ('person' or 'deadline'; absent for a task), `expected_head` (the checkpoint with
              the question that its input answers), and `audit`, {key, lines, max}: JSON objects to which the time is added; for a run with a trace `trace`,
              {process, request}: words of its first part (trace.lua), and trace_ttl_ms; with strategy
              `steer` those of steer.lua; texts: metadata, kwargs, metadata of a new thread, those of steer.lua
  Reply  {'ok', fields of the run's record that the script decides, ids of runs asked to stop, {{id of a queued run that ended, number of its last event}, …},
          bytes of the state that the run will find, how many runs of the user are in flight now, 1 when a run of the
          thread is under way, or this one waits for its time; 1 when streams follow the thread}
         {'repeated', run record, kwargs or nil when the record holds them}
         {'steered', run record, kwargs, bytes of the state that it will find, number of the newest checkpoint event in its log}: the
          messages wait to join this run, which is in flight
         {'nothing_runs'}: there is none, and p.join_only; {'other_shape'}: the run in flight does not continue from the checkpoint; {'many_waiting', number}, {'large_waiting', bytes},
         {'other_body'}, {'gone', run id}, {'no_thread'}, {'no_checkpoint'}, {'busy'}, {'full'}, {'quota'}, {'crowded'}, {'many'},
         {'budget', 'user' or 'key', its cost, its limit, time in ms}, {'large', bytes of the state}, {'stored', bytes}, {'delays'}, {'events'}, {'not_due'}, {'erasing'}: is_being_erased,
         {'nothing_asked'}, {'unknown_interrupt', id}, {'other_checkpoint'}: the interrupts of the head are answered or gone,
         {'expired', id}, {'early', id}: only its deadline, or not yet its deadline, may answer it,
         {'damaged', key}: nothing is written ]]
-- @include ../includes/thread.lua
-- @include ../includes/clock.lua
-- @include ../includes/events.lua
-- @include ../includes/ending.lua
-- @include ../includes/create.lua
-- @include ../includes/state-bytes.lua
-- @include ../usage/ledger.lua
-- @include ../interrupts/interrupts.lua
-- @include ../includes/ordinal.lua
-- @include ../delayed/delayed.lua
-- @include clear-thread.lua
-- @include ../steering/waiting-list.lua
local cron, steering
if p.cron then
  -- @include ../crons/cron-due.lua
  cron = { damaged = damaged_cron, is_stale = is_cron_stale, start = start_cron_run }
end
if p.strategy == 'steer' then
  -- @include ../includes/feed.lua
  -- @include ../steering/steer.lua
  steering = { target = steered_run, steer = steer }
end
local damage = damaged_thread() or damaged_run(p.run) or (p.delay and damaged_delayed()) or (cron and cron.damaged())
if damage then return { 'damaged', damage } end
if cron and cron.is_stale() then return { 'not_due' } end

local idempotency_key = more_key(1)
if idempotency_key then
  local known = redis.call('GET', idempotency_key)
  if known then
    local first = cjson.decode(known)
    if first.body_hash ~= p.body_hash then return { 'other_body' } end
    if redis.call('EXISTS', run_key(first.run)) == 0 then return { 'gone', first.run } end
    return { 'repeated', shown_run(first.run) }
  end
end
-- Most admissions are new, find no run that waits, and nothing that is being deleted or that follows the thread: one command for all.
local followed_key = record_key .. ':followed'
local is_plain = redis.call('EXISTS', run_key(p.run), inbox_key, followed_key, p.erasing or inbox_key) == 0
if not is_plain and redis.call('EXISTS', run_key(p.run)) == 1 then return { 'repeated', shown_run(p.run) } end

local record = read_hash(record_key)
if not is_plain and is_being_erased() and not (record and record.ended) then return { 'erasing' } end
if (record and record.ended) or not (record or p.create) then return { 'no_thread' } end
local in_flight = record and runs_in_flight(record, is_plain) or {}
local runs = {}
for index, run_id in ipairs(in_flight) do
  damage = damaged_run(run_id)
  if damage then return { 'damaged', damage } end
  runs[index] = read_run(run_id)
end
local current = record and record.current ~= '' and table.remove(runs, 1) or nil
local queued = runs

-- A run that waits for its time takes no part in the queue of the thread until then.
local delay = p.delay
local target = not delay and steering and steering.target(current, queued) or nil
local clears = not delay and (p.strategy == 'interrupt' or p.strategy == 'rollback')
local busy = #queued > 0 or (current and current.cancel == '')
if not delay and (p.strategy == 'reject' or p.resume or p.expected_head) and busy then return { 'busy' } end
if p.expected_head and (not record or record.head ~= p.expected_head) then return { 'nothing_asked' } end
if p.resume and #p.resume > 0 then
  local open = {}
  for _, asked in ipairs(open_in(record and record['v:interrupts'])) do open[asked.id] = asked end
  if not next(open) then return { 'nothing_asked' } end
  for _, id in ipairs(p.resume) do
    if not open[id] then return { 'unknown_interrupt', id } end
    local is_due = open[id].expires_ms and now_ms >= open[id].expires_ms
    if is_due and p.answered_by == 'person' then return { 'expired', id } end
    if not is_due and p.answered_by == 'deadline' then return { 'early', id } end
  end
end
if not target and not delay and not clears and #queued >= p.max_queued then return { 'full' } end
local others = redis.call('SCARD', in_flight_key) - (clears and #queued or 0)
if not target and others >= p.max_in_flight then return { 'quota' } end
if delay and redis.call('ZCARD', p.delayed.user) >= delay.max then return { 'delays' } end
if p.webhook and redis.call('ZCARD', p.outbox.waiting) >= p.webhook.max then return { 'events' } end
if not target and not delay and p.max_pending > 0 and redis.call('ZCARD', pending_key) >= p.max_pending
  and not redis.call('ZSCORE', pending_key, pending_member) then return { 'crowded' } end
if p.budgets and not target then
  local name, cost, limit = spent_budget(p.usage_prefix, p.budgets, p.user, p.api_key)
  if name then return { 'budget', name, cost, string.format('%.0f', limit), now_ms } end
end
local metadata, kwargs, thread_metadata = take(), take(), take()
local bytes = #metadata + #kwargs
local stored = steering and tonumber(redis.call('GET', stored_key) or 0)

if not record and not p.temporary and has_all_threads() then return { 'many' } end

-- The size of the state that the run will find: that of the head and the inputs of runs in flight.
local function bytes_to_come()
  local bytes = sizes_in(record)
  if not bytes then
    local text = redis.call('HGET', checkpoints_key, record.head)
    bytes = text and state_bytes(record.head, text) or 0
  end
  for _, run_id in ipairs(in_flight) do bytes = bytes + redis.call('STRLEN', kwargs_key(run_id)) end
  return bytes
end
local to_come = record and bytes_to_come() or 0
if not target and p.max_state_bytes > 0 and to_come > p.max_state_bytes then return { 'large', to_come } end

-- Whether `checkpoint` is `head`, or behind it only by state updates.
-- @rare
local function is_behind_by_updates(checkpoint, head)
  for _ = 1, p.kept_checkpoints do
    if checkpoint == head then return true end
    local text = redis.call('HGET', checkpoints_key, head)
    if not text then return false end
    local newer = checkpoint_of(head, text)
    if newer.metadata.source ~= 'update' or type(newer.parent) ~= 'string' then return false end
    head = newer.parent
  end
  return false
end

-- Whether a checkpoint was the head when the oldest run in flight was admitted, or later: the run continues from the head.
-- @rare
local function continues(checkpoint)
  local oldest = current or queued[1]
  if not oldest then return is_behind_by_updates(checkpoint, record.head) end
  return checkpoint >= oldest.admitted_head or is_behind_by_updates(checkpoint, oldest.admitted_head)
end

local fork = ''
if p.checkpoint ~= '' then
  local is_first = record and p.checkpoint == p.before_first
  if not is_first and (not record or redis.call('HEXISTS', checkpoints_key, p.checkpoint) == 0) then
    return { 'no_checkpoint' }
  end
  if not (is_first and record.head == '') and (delay or not continues(p.checkpoint)) then fork = p.checkpoint end
end

if p.resume and fork ~= '' then return { 'other_checkpoint' } end

if steering and record and fork == '' then
  local reply = steering.steer(record, target, to_come, stored)
  if reply then return reply end
elseif target then
  return { 'other_shape' }
end
local strategy = steering and 'enqueue' or p.strategy

local cancelled, ended = {}, {}
damage = clears and damaged_outbox(queued)
if damage then return { 'damaged', damage } end
-- The last check, by the first write.
stored = redis.call('INCRBY', stored_key, bytes) - bytes
if p.max_stored > 0 and stored + bytes > p.max_stored then
  release_bytes(bytes)
  return { 'stored', stored }
end
if clears then cancelled, ended = clear_thread(record, current, queued, p.strategy) end
redis.call('SET', kwargs_key(p.run), kwargs)
local ordinal = delay and '0' or next_ordinal(record)
if not record then
  record = create_thread(thread_metadata, p.temporary, delay and 'idle' or 'busy', ordinal)
elseif delay then
  touch(record)
else
  touch(record, 'status', 'busy', 'admitted', ordinal)
end
-- A field that is absent is read as '' or 0, but scripts of an earlier version need those that are '' here.
local fields = { 'run_id', p.run, 'thread_id', thread_id, 'user_id', p.user, 'assistant_id', p.assistant,
  'status', 'pending', 'metadata', metadata, 'stored', text_of(bytes), 'multitask_strategy', strategy, 'created_at', now_iso,
  'updated_at', now_iso, 'fork_checkpoint_id', fork, 'input_committed', '', 'cancel', '', 'open', '', 'dropped', '',
  'admitted_head', record.head, 'seq', '0', 'bytes', '0', 'border', '0', 'border_bytes', '0', 'ordinal', ordinal }
if p.api_key ~= '' then append_to(fields, 'api_key', p.api_key) end
if p.agent ~= p.assistant then append_to(fields, 'agent', p.agent) end
if p.traceparent ~= '' then append_to(fields, 'traceparent', p.traceparent) end
if fork ~= '' then append_to(fields, 'regenerates', p.regenerates) end
if idempotency_key then append_to(fields, 'idempotency', idempotency_key) end
if p.webhook then append_to(fields, 'webhook', p.webhook.url) end
-- A request with answers has a text, which is too long for a field of the record.
local traces_later = p.trace and not p.trace.answered
if p.trace then append_to(fields, 'traced', '0') end
if traces_later then append_to(fields, 'asked', p.trace.process .. ' ' .. p.trace.request, 'asked_ms', now_ms_text) end
redis.call('HSET', run_key(p.run), unpack(fields))
redis.call('ZADD', runs_key, string.format('%d', now_us), p.run)
if delay then
  delay_run(record, p.run, now_ms + delay.ms)
else
  redis.call('RPUSH', inbox_key, p.run)
  redis.call('ZADD', pending_key, 'NX', now_ms_text, pending_member)
end
redis.call('SADD', in_flight_key, p.run)
if fork ~= '' then redis.call('HINCRBY', bases_key, fork, 1) end
if p.trace and not traces_later then
  trace_answers(strategy)
end
if p.audit then
  for _, line in ipairs(p.audit.lines) do
    redis.call('XADD', p.audit.key, 'MAXLEN', '~', p.audit.max, '*', 'line', '{"at":"' .. now_iso .. '",' .. line:sub(2))
  end
end
if idempotency_key then redis.call('SET', idempotency_key, cjson.encode({ body_hash = p.body_hash, run = p.run })) end
if cron then cron.start(p.run) end
local decided = { 'created_at', now_iso, 'updated_at', now_iso, 'multitask_strategy', strategy, 'fork_checkpoint_id', fork,
  'admitted_head', record.head, 'ordinal', ordinal }
return { 'ok', decided, cancelled, ended, to_come, others + 1, (current or delay) and 1 or 0,
  is_plain and 0 or redis.call('EXISTS', followed_key) }
