#!lua
--[[ Makes an event that was given up due again, with all its attempts and its whole time, and removes the letter.
  KEYS[1..2]  all, users (outbox.lua); KEYS[3..4] records, times (letters.lua)
  ARGV[1]     JSON object: prefix, events, hosts (outbox.lua), user, event, id (of the letter), audit (audit-line.lua)
  Reply  {'ok'}; {'none'}: there is no such letter, {'erasing'}: the user is being erased, {'damaged', key}: nothing is written ]]
-- @include ../includes/clock.lua
-- @include ../includes/types.lua
-- @include letters.lua
local p = cjson.decode(ARGV[1])
-- @include audit-line.lua
local outbox = { all = KEYS[1], users = KEYS[2], prefix = p.prefix, events = p.events, hosts = p.hosts }
-- @include ../outbox/outbox.lua
local letters = { records = KEYS[3], times = KEYS[4] }
local key = event_key(p.user, p.event)
local damage = damaged_letters(letters) or is_damaged(key, 'hash') and key
  or is_damaged(failed_key(p.user), 'list') and failed_key(p.user)
for _, set in ipairs({ outbox.all, outbox.users, waiting_key(p.user) }) do
  damage = damage or is_damaged(set, 'zset') and set
end
if damage then return { 'damaged', damage } end
local text = redis.call('HGET', letters.records, p.id)
if not text then return { 'none' } end
if redis.call('HEXISTS', p.erasing, p.user) == 1 then return { 'erasing' } end
local fields = { 'attempts', '0', 'created', string.format('%.0f', now_ms) }
for name, value in pairs(cjson.decode(text).event) do
  fields[#fields + 1] = name
  fields[#fields + 1] = value
end
redis.call('HSET', key, unpack(fields))
redis.call('ZADD', outbox.all, now_ms, p.user .. '/' .. p.event)
redis.call('ZADD', waiting_key(p.user), now_ms, p.event)
schedule_user(p.user, now_ms)
for _, entry in ipairs(redis.call('LRANGE', failed_key(p.user), 0, -1)) do
  if cjson.decode(entry).event_id == p.event then redis.call('LREM', failed_key(p.user), 0, entry) end
end
remove_letter(letters, p.id)
write_audit()
return { 'ok' }
