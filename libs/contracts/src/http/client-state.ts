import { z } from 'zod';
import { CHANNEL_NAMES, type CLIENT_CHANNELS, Todo } from '../thread-state.js';
import { ClientMessages } from './client-messages.js';

const MAX_TITLE_CHARS = 1_000;
const MAX_ENTRIES = 1_000;
const MAX_PATH_CHARS = 4_096;

const channels = {
  title: z.string().max(MAX_TITLE_CHARS).optional(),
  todos: z.array(Todo).max(MAX_ENTRIES).optional(),
  artifacts: z
    .array(z.string().max(MAX_PATH_CHARS).startsWith('/mnt/user-data/', 'must be a path under /mnt/user-data/'))
    .max(MAX_ENTRIES)
    .optional(),
  messages: ClientMessages.optional(),
} as const satisfies Record<(typeof CLIENT_CHANNELS)[number] | 'messages', z.ZodType>;

const known = new Set<string>(Object.keys(channels));
const owned = new Set<string>(CHANNEL_NAMES.filter((name) => !known.has(name)));

/** Refuses the channels that only the server writes. */
function refuseOwned(value: unknown, context: z.RefinementCtx): void {
  for (const key of keysOf(value)) {
    if (owned.has(key)) context.addIssue({ code: 'custom', path: [key], message: 'is written by the server only' });
  }
}

function refuseUnknown(value: unknown, context: z.RefinementCtx): void {
  for (const key of keysOf(value)) {
    if (!known.has(key) && !owned.has(key))
      context.addIssue({ code: 'custom', path: [key], message: 'is no channel of the thread state' });
  }
}

const keysOf = (value: unknown): string[] => (typeof value === 'object' && value !== null ? Object.keys(value) : []);

const anyObject = z.record(z.string(), z.unknown());

/** Input of a run: messages and the channels a client may set; unknown keys are ignored, server-owned ones refused. */
export const RunInput = anyObject.superRefine(refuseOwned).pipe(z.object(channels));
export type RunInput = z.output<typeof RunInput>;

/** Values of a state update: as the run's input, and what would not be stored is refused. */
export const StateValues = anyObject.superRefine(refuseOwned).superRefine(refuseUnknown).pipe(z.object(channels));
