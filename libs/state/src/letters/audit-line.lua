-- Writes what an administrator did into the audit, in the script that does it. Needs clock.lua. p.audit = { key, line, max };
-- the line is a JSON object to which the time is added.
local function write_audit()
  redis.call('XADD', p.audit.key, 'MAXLEN', '~', p.audit.max, '*', 'line', '{"at":"' .. now_iso .. '",' .. p.audit.line:sub(2))
end
