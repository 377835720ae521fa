#!lua flags=no-writes
--[[ Reads rows of a thread's feed with their messages, newest first; hidden ones are skipped.
  KEYS  record, feed, log of the thread
  ARGV  number below which rows are read (0: from the newest), how many, bytes after which no further row is read, most
        rows to read, run whose rows are wanted ('' for all), '1' when a temporary thread that ended is read too
  Reply  {'ok', lowest number that was read, 1 when there are more below it, number, row, message, number, …}; a row is JSON:
         id, entry, run or '', and when it was written, as text or in ms
         {'no_thread'} ]]
-- @include ../includes/stored-text.lua
-- @include ../includes/feed-row.lua
if redis.call('EXISTS', KEYS[1]) == 0 then return { 'no_thread' } end
if ARGV[6] ~= '1' and redis.call('HEXISTS', KEYS[1], 'ended') == 1 then return { 'no_thread' } end
local before, limit, max_bytes, max_scanned = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local number = tonumber(redis.call('HGET', KEYS[2], 'last') or 0)
if before > 0 then number = math.min(number, before - 1) end

local function text_of_row(row_number) return redis.call('HGET', KEYS[2], row_number) end

local reply = { 'ok', number + 1, 0 }
local bytes, found, scanned = 0, 0, 0
while number >= 1 do
  local text = text_of_row(number)
  local row = text and decode_row(text, text_of_row)
  if row and not row.hidden and (ARGV[5] == '' or row.run == ARGV[5]) then
    if found == limit or bytes >= max_bytes then
      reply[3] = 1
      break
    end
    local message = redis.call('HGET', KEYS[3], string.format('%.0f', row.entry))
    found, bytes = found + 1, bytes + plain_bytes(message)
    local shown = cjson.encode({ row.id, row.entry, row.run or '', row.at or row.at_ms })
    for _, part in ipairs({ number, shown, message }) do reply[#reply + 1] = part end
  end
  reply[2] = number
  number, scanned = number - 1, scanned + 1
  if scanned == max_scanned and number >= 1 then
    reply[3] = 1
    break
  end
end
return reply
