import type { IssuedExtra, IssuedExtras } from '../../framework/issued-extras.js';
import { type Position, PrefixChain } from '../../framework/prefix-chain.js';
import { invalid } from './errors.js';
import { profileOf, readsThinkingOf } from './models.js';
import type { PromptBlock } from './prompt.js';
import type { RequestBlock } from './shape.js';

/** What a signature, or the data of a redacted block, was issued for. */
interface IssuedThinking extends Position {
  readonly model: string;
  /** The text as it was returned: empty when it was omitted or redacted. */
  readonly thinking: string;
}

/** A thinking block that the model does not get to see. */
export interface DroppedThinking {
  readonly type: 'thinking_dropped';
  readonly path: string;
  readonly reason: 'model_binding_mismatch' | 'prefix_binding_mismatch';
}

type ThinkingBlock = Extract<RequestBlock, { type: 'thinking' | 'redacted_thinking' }>;

/** Issues thinking blocks for one answer, bound to everything before them. */
export class ThinkingIssuer {
  constructor(
    private readonly extras: IssuedExtras,
    private readonly model: string,
    private readonly chain: PrefixChain,
  ) {}

  /** Adds what the answer says to the conversation that later blocks are bound to. */
  said(content: unknown): void {
    this.chain.add('assistant', content);
  }

  /** A signature for a block that returns this text, or the data of a redacted one. */
  issue(kind: ThinkingBlock['type'], thinking: string): string {
    const content: IssuedThinking = { model: this.model, thinking, ...this.chain.position() };
    const token = this.extras.issue(kind, content);
    this.chain.addOpaque(token);
    return token;
  }
}

interface Binding {
  readonly extras: IssuedExtras;
  readonly model: string;
  readonly dropMismatch: boolean;
  /** Index of the latest message of an assistant. */
  readonly latestMessage: number;
}

/**
 * Checks every thinking block that comes back: issued by this server, unchanged, and, for models with preserved thinking,
 * behind the same conversation. Returns what the model does not get to see, and the conversation up to here.
 *
 * @throws Refusal in the vendor's words.
 */
export function checkThinkingBlocks(
  blocks: readonly PromptBlock[],
  binding: Binding,
): { dropped: DroppedThinking[]; chain: PrefixChain } {
  const chain = new PrefixChain();
  const dropped: DroppedThinking[] = [];
  let dropping = false;
  for (const { block, owner, content, path } of blocks) {
    if (block === undefined || !isThinkingBlock(block)) {
      chain.add(owner, content);
      dropping = false;
      continue;
    }
    const token = block.type === 'thinking' ? block.signature : block.data;
    const reason: DroppedThinking['reason'] | undefined = dropping
      ? 'prefix_binding_mismatch'
      : dropReason(block, path, { ...binding, chain, token });
    if (reason !== undefined) dropped.push({ type: 'thinking_dropped', path, reason });
    dropping = reason === 'prefix_binding_mismatch';
    chain.addOpaque(token);
  }
  return { dropped, chain };
}

const isThinkingBlock = (block: RequestBlock): block is ThinkingBlock =>
  block.type === 'thinking' || block.type === 'redacted_thinking';

function dropReason(
  block: ThinkingBlock,
  path: string,
  { extras, chain, token, model, dropMismatch, latestMessage }: Binding & { chain: PrefixChain; token: string },
): DroppedThinking['reason'] | undefined {
  const issued = issuedThinking(extras.find(token), block.type);
  const field = block.type === 'thinking' ? 'signature' : 'data';
  const wrong = `${path}: Invalid \`${field}\` in \`${block.type}\` block`;
  if (issued === undefined) throw invalid('signature of thinking', wrong);
  if (block.type === 'thinking' && block.thinking !== issued.thinking) {
    if (path.startsWith(`messages.${latestMessage}.`)) throw modified(path);
    throw invalid('signature of thinking', wrong);
  }
  if (!readsThinkingOf(model, issued.model)) return 'model_binding_mismatch';
  if (!profileOf(model).prefixCheck || !profileOf(issued.model).prefixCheck || chain.accepts(issued)) return undefined;
  if (dropMismatch) return 'prefix_binding_mismatch';
  throw invalid(
    'conversation of thinking',
    `${wrong}. The block is bound to a different conversation. Remove the block, or set ` +
      '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".',
  );
}

function issuedThinking(extra: IssuedExtra | undefined, kind: string): IssuedThinking | undefined {
  return extra?.kind === kind ? (extra.content as IssuedThinking) : undefined;
}

/** The refusal of thinking blocks that did not come back as they were. */
export const modified = (path: string): Error =>
  invalid(
    'thinking of the latest answer',
    `${path}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. ` +
      'These blocks must remain as they were in the original response.',
  );
