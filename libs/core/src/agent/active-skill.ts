import { AllowedTools, type ThreadState } from '@caribou/contracts';
import { z } from 'zod';
import { runSlot } from './state-slot.js';

/** The skill that the user named at the beginning of the run's message; it is active for this run only. */
export const activeSkill = runSlot('skill-activation', z.object({ name: z.string(), allowed_tools: AllowedTools }));

/** Tools that no skill takes away: the search for tools, and what a person has asked of the runs of a schedule. */
const ALWAYS_ALLOWED: readonly string[] = ['tool_search', 'stop_scheduled_task'];

/** The tool names that the active skill allows; all of them when no skill is active or the skill lists no tools. */
export function filterAllowedTools(
  names: readonly string[],
  state: ThreadState,
  run: { readonly runId: string },
): readonly string[] {
  const allowed = activeSkill.read(state, run)?.allowed_tools ?? null;
  return allowed === null ? names : names.filter((name) => allowed.includes(name) || ALWAYS_ALLOWED.includes(name));
}
