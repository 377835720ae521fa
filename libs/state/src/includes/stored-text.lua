-- Forms of the texts in a log: as they are, or shortened by the writer. Scripts never expand them: their content is for
-- processes only. A shortened text begins with a byte that no text has and the size of the text, as redis/stored-text.ts describes.

-- The size of a text, whatever its form.
local function plain_bytes(text)
  if #text == 0 or text:byte(1) < 248 then return #text end
  return (struct.unpack('>I4', text, 2))
end
