-- Forms of the texts in a log: as they are, or compressed by the writer. Scripts never expand them: their content is for
-- processes only. A compressed text begins with 0xff and the size of the text, as redis/stored-text.ts describes.

-- The size of a text, whatever its form.
local function plain_bytes(text)
  if text:byte(1) ~= 255 then return #text end
  return (struct.unpack('>I4', text, 2))
end
