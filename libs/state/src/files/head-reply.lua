-- The head of a thread's files as a list: the order is that of HEAD_FIELDS in file-generations.ts.
local function head_list(head)
  return { head.home, head.generation, head.work, head.uploads, head.bytes, head.files, head.reset_at, head.unpublished, head.machine,
    head.taken_at, head.lost }
end
