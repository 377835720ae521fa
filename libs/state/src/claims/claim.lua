#!lua
--[[ Claims a thread for an owner: its current run, else the head of its inbox. A queued run never carries a cancel flag
  (cancel.lua and admit.lua end it at once), so the head is to be run.
  KEYS, ARGV  thread.lua; parameters owner, lease_ms, before_first (feed.lua), known (load.lua), those of processes.lua; with a
              limit of running threads `turns` (turn-queue.lua)
  A claim may be repeated by its owner when its outcome is unknown: it counts once.
  Reply  {'idle'}: nothing to run; {'busy'}: another live owner; {'damaged', key};
         {'capped'}: the user has as many running threads as he may have
         {'run', epoch, run record, head as load.lua returns it, attempts since the last commit, ms since the first claim,
          kwargs, false when the record holds them; messages that wait to join the run as waiting-list.lua has them, and the change of
          the goal that it is to make (goal-change.lua), the manager that has files of before the run which are not stored: each absent or
          false for none} ]]
-- @include ../includes/thread.lua
-- @include ../includes/load.lua
local files
if p.files then
  -- @include ../files/generations.lua
  files = { note = note_files_before }
end
local first_commit
-- @include claim-run.lua
