-- The clock of Redis; the clocks of processes decide nothing.
local clock = redis.call('TIME')
local now_us = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local now_ms = math.floor(now_us / 1000)

-- Years go in blocks of four with one leap year, which holds from 1901 to 2099.
local function iso(ms)
  local days = math.floor(ms / 86400000)
  local rest = ms - days * 86400000
  local year, month = 1970 + 4 * math.floor(days / 1461), 1
  days = days % 1461
  while days >= (year % 4 == 0 and 366 or 365) do
    days = days - (year % 4 == 0 and 366 or 365)
    year = year + 1
  end
  local lengths = { 31, year % 4 == 0 and 29 or 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }
  while days >= lengths[month] do
    days = days - lengths[month]
    month = month + 1
  end
  local seconds = math.floor(rest / 1000)
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%03dZ', year, month, days + 1,
    math.floor(seconds / 3600), math.floor(seconds / 60) % 60, seconds % 60, rest % 1000)
end
local now_iso = iso(now_ms)
