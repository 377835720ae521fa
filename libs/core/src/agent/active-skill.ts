import { AllowedTools, type ThreadState } from '@caribou/contracts';
import { z } from 'zod';
import { runSlot } from './state-slot.js';

/** The skill that the person asked for by name at the beginning of the run's message; it holds for this run. */
export const activeSkill = runSlot('skill-activation', z.object({ name: z.string(), allowed_tools: AllowedTools }));

/** Tools that do nothing but let the agent find others. */
const ALWAYS_ALLOWED: readonly string[] = ['tool_search'];

/** The names among these that the run's skill lets it use: all without a skill, or with one that names no tools. */
export function allowedTools(
  names: readonly string[],
  state: ThreadState,
  run: { readonly runId: string },
): readonly string[] {
  const allowed = activeSkill.read(state, run)?.allowed_tools ?? null;
  return allowed === null ? names : names.filter((name) => allowed.includes(name) || ALWAYS_ALLOWED.includes(name));
}
