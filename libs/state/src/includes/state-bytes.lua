-- The size of the state of a checkpoint: the bytes of its messages and channels. A checkpoint of an earlier
-- version does not contain it: its entries of the log are measured, each once per script.
-- @include stored-text.lua
-- @include checkpoint-text.lua
local measured = {}
local function entry_bytes(field)
  local bytes = measured[field]
  if not bytes then
    bytes = plain_bytes(redis.call('HGET', log_key, field) or '')
    measured[field] = bytes
  end
  return bytes
end

-- @rare
local function state_bytes(id, text)
  local checkpoint, bytes = checkpoint_of(id, text), 0
  if checkpoint.bytes then return checkpoint.bytes end
  for _, range in ipairs(checkpoint.ranges) do
    for entry = range[1], range[2] do bytes = bytes + entry_bytes(string.format('%.0f', entry)) end
  end
  for _, entry in pairs(checkpoint.channels) do bytes = bytes + entry_bytes('c' .. entry) end
  return bytes
end
