-- Enters a change of an administrator into the audit stream: a JSON object, to which the time is added. Needs clock.lua.
local function enter_change(stream, line, max)
  redis.call('XADD', stream, 'MAXLEN', '~', max, '*', 'line', '{"at":"' .. now_iso .. '",' .. line:sub(2))
end
