-- Forms of a row of a thread's feed: a JSON object with the names of feed.lua, or, compact, an array of id, entry, run and the
-- time in ms. The run is '' for a client, its id in the run's first row, and the number of that row in the others: rows of a run
-- are never removed without those after them. A row with further fields is an object.

-- Decodes a row, whichever form it has, with `at` or `at_ms`; `text_of_row` returns the text of another row by its number.
local function decode_row(text, text_of_row)
  local row = cjson.decode(text)
  if row.id then return row end
  local id, entry, run, at_ms = unpack(row)
  if type(run) == 'number' then
    local first_text = text_of_row(string.format('%.0f', run))
    local first = first_text and cjson.decode(first_text) or {}
    run = first.run or first[3]
  end
  return { id = id, entry = entry, run = run ~= '' and run or nil, at_ms = at_ms }
end
