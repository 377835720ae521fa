import type { MessagesRequest, RequestBlock, RequestMessage } from './shape.js';

/** A block with its place in the request, such as `messages.1.content.0`. */
export interface PlacedBlock {
  readonly path: string;
  /** Index of its message. */
  readonly message: number;
  readonly block: RequestBlock;
}

/** Messages of one role in a row, which the vendor combines. */
export interface Turn {
  readonly role: RequestMessage['role'];
  readonly blocks: readonly PlacedBlock[];
}

/** The blocks of a message; a string is a block of text. */
export function blocksOf({ content }: RequestMessage): readonly RequestBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

/** The conversation as turns, in order. */
export function turnsOf({ messages }: Pick<MessagesRequest, 'messages'>): Turn[] {
  const turns: { role: Turn['role']; blocks: PlacedBlock[] }[] = [];
  messages.forEach((message, at) => {
    const blocks = blocksOf(message).map((block, index) => ({
      path: `messages.${at}.content.${index}`,
      message: at,
      block,
    }));
    const last = turns.at(-1);
    if (last?.role === message.role) last.blocks.push(...blocks);
    else turns.push({ role: message.role, blocks });
  });
  return turns;
}

export const isThinking = (block: RequestBlock): boolean =>
  block.type === 'thinking' || block.type === 'redacted_thinking';

/** Whether a turn of a user brings results of tools, so that the assistant's turn before it goes on. */
export function continuesTools(turn: Turn | undefined): boolean {
  return turn?.role === 'user' && turn.blocks.some(({ block }) => block.type === 'tool_result');
}
