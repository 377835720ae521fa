import { z } from 'zod';
import { CHANNEL_NAMES, type CLIENT_CHANNELS, Todo } from '../../records/thread-state.js';
import { oneLine } from '../../common/one-line.js';
import { ClientMessages } from './client-messages.js';
import { InputMessages } from './input-messages.js';
import { StateMessages } from './state-messages.js';

const MAX_TITLE_CHARS = 1_000;
const MAX_ENTRIES = 1_000;
const MAX_PATH_CHARS = 4_096;

const MAX_TODO_CHARS = 10_000;

/** Whether the path has no empty or relative parts and no control characters. */
const isFilePath = (path: string): boolean =>
  /^\/mnt\/user-data(\/[^/\p{Cc}]+)+$/u.test(path) && !path.split('/').some((part) => part === '.' || part === '..');

const channels = {
  title: z.string().max(MAX_TITLE_CHARS).transform(oneLine).optional(),
  todos: z
    .array(Todo.extend({ content: z.string().max(MAX_TODO_CHARS) }))
    .max(MAX_ENTRIES)
    .optional(),
  artifacts: z
    .array(z.string().max(MAX_PATH_CHARS).refine(isFilePath, 'must be a plain path under /mnt/user-data/'))
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
      context.addIssue({ code: 'custom', path: [key], message: 'is not a channel of the thread state' });
  }
}

const keysOf = (value: unknown): string[] => (typeof value === 'object' && value !== null ? Object.keys(value) : []);

const anyObject = z.record(z.string(), z.unknown());

/** The values of channels that only the server writes, by channel. */
const pickServerChannels = (value: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).filter(([key]) => owned.has(key)));

/**
 * Input of a run: messages and the channels a client may set; unknown keys are ignored. For clients that send the whole
 * state back, `returned` has the server's channels, which are compared with the thread and never stored.
 */
export const RunInput = anyObject
  .transform((value) => ({ ...value, returned: pickServerChannels(value) }))
  .pipe(z.object({ ...channels, messages: InputMessages.optional(), returned: anyObject }));
export type RunInput = z.output<typeof RunInput>;

const clientValues = anyObject.superRefine(refuseOwned).superRefine(refuseUnknown);

/** Values of a command's update: messages are the client's own. */
export const CommandValues = clientValues.pipe(z.object(channels));

/** Values of a state update; fields that would not be stored are refused. Messages may be edits of others, and removals. */
export const StateValues = clientValues.pipe(z.object({ ...channels, messages: StateMessages.optional() }));
