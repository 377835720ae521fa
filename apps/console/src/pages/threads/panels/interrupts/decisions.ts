import type { WaitingReply } from '@caribou/contracts';
import { panels } from '../../../../text/panels.js';
import { argumentFaults, type Fault } from './argument-faults.js';
import { type AskedCall, isObject, readCall } from './waiting.js';

/** What a person is about to answer to one interrupt. */
export type Draft =
  | { readonly type: 'approve' }
  | { readonly type: 'edit'; readonly text: string }
  | { readonly type: 'reject' | 'respond'; readonly message: string }
  /** The answer to a question that is no approval. */
  | { readonly type: 'answer'; readonly value: unknown };

type Answer =
  | { readonly isValid: true; readonly value: unknown }
  | { readonly isValid: false; readonly faults: readonly Fault[] };

/** Most characters of a reason or an answer in place of a tool; the server refuses more. */
const MAX_MESSAGE_CHARS = 20_000;

/** The value that `command.resume` gives an interrupt, or what is wrong with the draft. */
export function toAnswer(waiting: Pick<WaitingReply, 'kind' | 'value'>, draft: Draft): Answer {
  if (draft.type === 'answer') return { isValid: true, value: draft.value };
  const call = readCall(waiting);
  if (call === undefined) return invalid('', panels.interrupts.unreadable);
  const bound = call.callHash === undefined ? {} : { call_hash: call.callHash };
  switch (draft.type) {
    case 'approve':
      return decision({ type: 'approve', ...bound });
    case 'edit':
      return editOf(call, draft.text, bound);
    case 'reject':
    case 'respond':
      return messageOf(draft, bound);
  }
}

const decision = (value: object): Answer => ({ isValid: true, value: { decisions: [value] } });
const invalid = (field: string, text: string): Answer => ({ isValid: false, faults: [{ field, text }] });

function messageOf({ type, message }: { type: 'reject' | 'respond'; message: string }, bound: object): Answer {
  const text = message.trim();
  if (text.length > MAX_MESSAGE_CHARS) return invalid('message', panels.interrupts.messageTooLong(MAX_MESSAGE_CHARS));
  if (type === 'respond' && text === '') return invalid('message', panels.interrupts.messageMissing);
  return decision({ type, ...bound, ...(text === '' ? {} : { message: text }) });
}

function editOf(call: AskedCall, text: string, bound: object): Answer {
  const args = parseArgs(text);
  if (!args.isValid) return args;
  const faults = argumentFaults(args.value, call);
  if (faults.length > 0) return { isValid: false, faults };
  return decision({ type: 'edit', ...bound, edited_action: { name: call.name, args: args.value } });
}

function parseArgs(
  text: string,
): (Answer & { isValid: false }) | { isValid: true; value: Readonly<Record<string, unknown>> } {
  const refused = (reason: string) => ({ isValid: false as const, faults: [{ field: 'args', text: reason }] });
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? { isValid: true, value } : refused(panels.interrupts.argsNoObject);
  } catch (error) {
    if (error instanceof SyntaxError) return refused(panels.interrupts.argsNoJson(error.message));
    throw error;
  }
}

/** The faults of each interrupt whose draft cannot be sent, by interrupt id; and what is sent of the others. */
export interface Decided {
  readonly resume: Readonly<Record<string, unknown>>;
  readonly faults: Readonly<Record<string, readonly Fault[]>>;
}

/** What `command.resume` sends for the interrupts that have a draft. Those without one stay open. */
export function decide(waiting: readonly WaitingReply[], drafts: ReadonlyMap<string, Draft>): Decided {
  const resume: Record<string, unknown> = {};
  const faults: Record<string, readonly Fault[]> = {};
  for (const each of waiting) {
    const draft = drafts.get(each.interrupt_id);
    if (draft === undefined) continue;
    const answer = toAnswer(each, draft);
    if (answer.isValid) resume[each.interrupt_id] = answer.value;
    else faults[each.interrupt_id] = answer.faults;
  }
  return { resume, faults };
}

/** Where the server's refusal of a decision belongs: the interrupt and the field that it names; undefined when it names none. */
export function placeRefusal(message: string): ({ readonly interruptId: string } & Fault) | undefined {
  const found = /the answer to interrupt ([0-9a-f]{32}): (?:decisions\[0\]\.?)?([\w.[\]-]*): ?(.*)$/s.exec(message);
  if (found === null) return undefined;
  const [, interruptId = '', field = '', text = ''] = found;
  return { interruptId, field: field.replace(/^edited_action\./, ''), text };
}
