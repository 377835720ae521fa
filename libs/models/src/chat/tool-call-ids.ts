import { createHash } from 'node:crypto';
import type { Message } from '@caribou/contracts';
import type { Dialect } from './dialects/dialect.js';

interface IdRule {
  readonly fits: RegExp;
  /** Length of the ids that replace others. */
  readonly chars: number;
}

const rules: Readonly<Record<Dialect['callIds'], IdRule>> = {
  openai: { fits: /^[a-zA-Z0-9_-]{1,40}$/, chars: 32 },
  'alphanumeric-9': { fits: /^[a-zA-Z0-9]{9}$/, chars: 9 },
};

/** Converts the id of a call, and of its result, to one that the provider accepts. */
export type ToCallId = (id: string) => string;

/**
 * Creates the conversion for a conversation. Ids that fit are sent as they are; others are replaced by letters and digits of their hash,
 * which differ from all other ids of the conversation. A longer conversation gives its earlier ids the same replacements, unless a
 * later id that fits equals one of these.
 */
export function callIdsFor(messages: readonly Message[], callIds: Dialect['callIds']): ToCallId {
  const { fits, chars } = rules[callIds];
  const ids = messages.flatMap(idsIn);
  if (ids.every((id) => fits.test(id))) return (id) => id;
  const taken = new Set(ids.filter((id) => fits.test(id)));
  const replaced = new Map<string, string>();
  for (const id of ids) {
    if (fits.test(id) || replaced.has(id)) continue;
    const replacement = freeId(id, chars, taken);
    taken.add(replacement);
    replaced.set(id, replacement);
  }
  return (id) => replaced.get(id) ?? id;
}

function idsIn(message: Message): string[] {
  if (message.type === 'tool') return [message.tool_call_id];
  return message.type === 'ai' ? [...message.tool_calls, ...message.invalid_tool_calls].map(({ id }) => id) : [];
}

function freeId(id: string, chars: number, taken: ReadonlySet<string>): string {
  for (let attempt = 0; ; attempt++) {
    const candidate = hashed(`${attempt} ${id}`, chars);
    if (!taken.has(candidate)) return candidate;
  }
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Letters and digits from the bytes of the hash; up to 32. */
const hashed = (text: string, chars: number): string =>
  [...createHash('sha256').update(text).digest().subarray(0, chars)]
    .map((byte) => DIGITS[byte % DIGITS.length])
    .join('');
