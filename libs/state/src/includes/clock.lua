-- The clock of Redis; the clocks of processes decide nothing.
local clock = redis.call('TIME')
local now_us = clock[1] * 1000000 + clock[2]
local now_ms = math.floor(now_us / 1000)
-- For commands: Redis takes twice the time for a number, which it formats for each of them.
local now_ms_text = string.format('%d', now_ms)

-- Days count from March 1968, so that a leap day is the last one of its year. Years go in blocks of four with one leap year,
-- and months in blocks of five with 153 days; this holds from 1901 to 2099.
local function iso(ms)
  local floor = math.floor
  local days = floor(ms / 86400000)
  local rest = ms - days * 86400000
  local quarters = 4 * (days + 671) + 3
  local year = floor(quarters / 1461)
  local day_of_year = floor(quarters % 1461 / 4)
  local month = floor((5 * day_of_year + 2) / 153)
  local day = day_of_year - floor((153 * month + 2) / 5) + 1
  if month >= 10 then year, month = year + 1, month - 12 end
  -- `%d` leaves out what is behind the point.
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%03dZ', 1968 + year, month + 3, day,
    rest / 3600000, rest / 60000 % 60, rest / 1000 % 60, rest % 1000)
end
local now_iso = iso(now_ms)
