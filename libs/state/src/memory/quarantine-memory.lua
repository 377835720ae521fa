#!lua flags=allow-oom
--[[ Moves an unreadable memory aside, unchanged, and reports it. Two earlier ones are retained.
  KEYS    memory-record.lua; ARGV[1] JSON object p: agent, reason, max_reports; ARGV[2] the document as it was read,
          '' if the key is not a hash or has none
  Reply  {'ok'}; {'changed'}: it has changed since; {'damaged', key}: nothing is written ]]
local p = cjson.decode(ARGV[1])
-- @include memory-record.lua
for index, kind in pairs({ [2] = 'list', [3] = 'set', [4] = 'list' }) do
  if is_damaged(KEYS[index], kind) then return { 'damaged', KEYS[index] } end
end
local kind = redis.call('TYPE', KEYS[1]).ok
local document = kind == 'hash' and redis.call('HGET', KEYS[1], 'document') or ''
if kind == 'none' or document ~= ARGV[2] then return { 'changed' } end
for slot = 6, 5, -1 do
  if redis.call('EXISTS', KEYS[slot]) == 1 then redis.call('RENAME', KEYS[slot], KEYS[slot + 1]) end
end
redis.call('RENAME', KEYS[1], KEYS[5])
redis.call('SADD', KEYS[3], p.agent)
redis.call('LPUSH', KEYS[4], cjson.encode({ at = now_iso, reason = p.reason, bytes = #document }))
redis.call('LTRIM', KEYS[4], 0, p.max_reports - 1)
return { 'ok' }
