import type { IssuedExtras } from '../../../framework/issued-extras.js';
import { type Position, PrefixChain } from '../../../framework/prefix-chain.js';
import { invalid } from '../errors.js';
import type { IssuedItems } from '../issued-items.js';
import type { InputItem, ReasoningItem } from '../shape.js';

export const REASONING_EXTRA = 'reasoning.encrypted_content';

/** What encrypted content was issued for. */
export interface IssuedReasoning extends Position {
  readonly id: string;
  readonly model: string;
}

/** Reasoning that the model does not get to see. */
export interface RemovedReasoning {
  readonly type: 'reasoning';
  readonly id: string;
  readonly action: 'removed';
  readonly reason: 'model_mismatch' | 'prefix_mismatch';
}

/**
 * Checks that reasoning comes with what it led to and the other way round.
 *
 * @throws Refusal in the vendor's words.
 */
export function checkPairs(items: readonly InputItem[], issued: IssuedItems): void {
  items.forEach((item, at) => {
    if (item.type === 'reasoning') return checkFollowing(item, items[at + 1], issued);
    if (!('id' in item) || typeof item.id !== 'string') return;
    const reasoningId = issued.find(item.id)?.reasoningId;
    const before = items[at - 1];
    if (reasoningId === undefined || (before?.type === 'reasoning' && before.id === reasoningId)) return;
    throw invalid(
      'reasoning of an item',
      `Item '${item.id}' of type '${item.type}' was provided without its required 'reasoning' item: '${reasoningId}'.`,
      { param: 'input' },
    );
  });
}

function checkFollowing(item: ReasoningItem, next: InputItem | undefined, issued: IssuedItems): void {
  const expected = issued.find(item.id)?.next;
  if (next !== undefined && isFollowing(next, expected)) return;
  throw invalid(
    'item of reasoning',
    `Item '${item.id}' of type 'reasoning' was provided without its required following item.`,
    {
      param: 'input',
    },
  );
}

/** Messages may come back without their id, calls have their call_id. */
function isFollowing(item: InputItem, expected: string | undefined): boolean {
  if (item.type === 'function_call') return expected === undefined || item.call_id === expected;
  if (item.type === 'reasoning') return expected === undefined || item.id === expected;
  if (item.type !== 'message' || item.role !== 'assistant') return false;
  return expected === undefined || (item.id === undefined ? expected.startsWith('msg_') : item.id === expected);
}

interface Binding {
  readonly extras: IssuedExtras;
  readonly model: string;
  readonly instructions: unknown;
  readonly tools: unknown;
}

/**
 * Checks the encrypted content of all reasoning. Returns what the model does not get to see, since another model made it or something
 * before it has changed, and the conversation up to here.
 *
 * @throws Refusal for content that was not issued, or for another item.
 */
export function checkEncrypted(
  items: readonly InputItem[],
  { extras, model, instructions, tools }: Binding,
): { removed: RemovedReasoning[]; chain: PrefixChain } {
  const chain = new PrefixChain();
  chain.add('instructions', instructions ?? null);
  chain.add('tools', tools ?? null);
  const removed: RemovedReasoning[] = [];
  for (const item of items) {
    if (item.type !== 'reasoning') {
      chain.add('input', comparableItem(item));
      continue;
    }
    const token = item.encrypted_content ?? item.id;
    const reason = item.encrypted_content ? removalReason(item, { extras, model, chain, token }) : undefined;
    if (reason !== undefined) removed.push({ type: 'reasoning', id: item.id, action: 'removed', reason });
    chain.addOpaque(token);
  }
  return { removed, chain };
}

function removalReason(
  item: ReasoningItem,
  { extras, model, chain, token }: { extras: IssuedExtras; model: string; chain: PrefixChain; token: string },
): RemovedReasoning['reason'] | undefined {
  const extra = extras.find(token);
  if (extra?.kind !== REASONING_EXTRA) throw unverified(item.id, 'Encrypted content could not be decrypted or parsed.');
  const issued = extra.content as IssuedReasoning;
  if (issued.id !== item.id) {
    throw unverified(item.id, 'Encrypted content item_id did not match the target item id.');
  }
  if (issued.model !== model) return 'model_mismatch';
  return chain.accepts(issued) ? undefined : 'prefix_mismatch';
}

const unverified = (id: string, reason: string): Error =>
  invalid('encrypted reasoning', `The encrypted content for item ${id} could not be verified. Reason: ${reason}`, {
    code: 'invalid_encrypted_content',
  });

/** What an item says to the model: without its id and status, and a text in its long form. */
export function comparableItem(item: InputItem): unknown {
  if (item.type === 'function_call') return ['function_call', item.call_id, item.name, item.arguments];
  if (item.type === 'function_call_output') return ['function_call_output', item.call_id, item.output];
  if (item.type !== 'message') return item;
  const kind = item.role === 'assistant' ? 'output_text' : 'input_text';
  const parts = typeof item.content === 'string' ? [{ type: kind, text: item.content }] : item.content;
  return ['message', item.role, parts.map(({ type, ...rest }) => [type, 'text' in rest ? rest.text : rest])];
}
