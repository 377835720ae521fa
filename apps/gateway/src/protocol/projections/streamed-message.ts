import { type AiMessage, isRecord, type RunEventOf, type ToolCallChunk } from '@caribou/contracts';
import { type Block, callBlocks, contentBlocks, reasoningBlock, reasoningOf, textBlock } from './content-blocks.js';

/** The data of one event of channel `messages`. */
export type MessagesData = Readonly<Record<string, unknown>> & { readonly event: string };

interface StreamedBlock {
  readonly kind: 'text' | 'reasoning' | 'call';
  text: string;
  /** Of a call. */
  readonly callIndex?: number;
  id?: string | null;
  name?: string;
  /** What was given as the finished block. */
  finished?: Block;
}

/**
 * An answer of the model while it is streamed, as blocks of content that begin, grow and end one after the other. A piece of a
 * call whose block has ended is shown with the whole answer.
 */
export class StreamedMessage {
  private readonly blocks: StreamedBlock[] = [];
  private open: number | undefined;

  /** The events of one piece. */
  take(delta: RunEventOf<'message.delta'>): MessagesData[] {
    const data: MessagesData[] = [];
    if (delta.reasoning !== undefined && delta.reasoning !== '') data.push(...this.grow('reasoning', delta.reasoning));
    if (delta.content !== '') data.push(...this.grow('text', delta.content));
    for (const chunk of delta.tool_call_chunks ?? []) data.push(...this.growCall(chunk));
    return data;
  }

  /** The events of its end, by the answer as it is stored: what was not streamed, or not as a whole, is shown now. */
  finish(message: AiMessage): MessagesData[] {
    const data = this.closeOpen(message);
    for (const [index, block] of this.blocks.entries()) {
      const whole = block.kind === 'call' ? callOf(block, message) : undefined;
      if (whole !== undefined && JSON.stringify(whole) !== JSON.stringify(block.finished))
        data.push({ event: 'content-block-finish', index, content: whole });
    }
    let index = this.blocks.length;
    for (const block of this.missing(message)) {
      data.push(...wholeBlock(index, block));
      index += 1;
    }
    return data;
  }

  private grow(kind: 'text' | 'reasoning', piece: string): MessagesData[] {
    const data: MessagesData[] = [];
    let index = this.open;
    if (index === undefined || this.blocks[index]?.kind !== kind) {
      data.push(...this.closeOpen());
      index = this.begin({ kind, text: '' });
      data.push({ event: 'content-block-start', index, content: kind === 'text' ? textBlock('') : reasoningBlock('') });
    }
    const block = this.blocks[index];
    if (block !== undefined) block.text += piece;
    const delta = kind === 'text' ? { type: 'text-delta', text: piece } : { type: 'reasoning-delta', reasoning: piece };
    data.push({ event: 'content-block-delta', index, delta });
    return data;
  }

  private growCall({ index: callIndex, id, name, args }: ToolCallChunk): MessagesData[] {
    const known = this.blocks.findIndex((block) => block.callIndex === callIndex);
    const block = this.blocks[known];
    if (block === undefined) {
      const data = this.closeOpen();
      const index = this.begin({ kind: 'call', text: args, callIndex, id, name: name ?? '' });
      data.push({ event: 'content-block-start', index, content: { type: 'tool_call_chunk', id, name, args } });
      return data;
    }
    block.text += args;
    block.id ??= id;
    block.name = (block.name ?? '') + (name ?? '');
    if (known !== this.open) return [];
    const identity = name === null || name === '' ? [] : [{ type: 'tool_call_chunk', id: block.id, name: block.name }];
    return [
      ...identity.map((fields) => ({
        event: 'content-block-delta',
        index: known,
        delta: { type: 'block-delta', fields },
      })),
      ...(args === ''
        ? []
        : [{ event: 'content-block-delta', index: known, delta: { type: 'tool-call-delta', args } }]),
    ];
  }

  private begin(block: StreamedBlock): number {
    this.blocks.push(block);
    this.open = this.blocks.length - 1;
    return this.open;
  }

  private closeOpen(message?: AiMessage): MessagesData[] {
    const index = this.open;
    const block = index === undefined ? undefined : this.blocks[index];
    if (index === undefined || block === undefined) return [];
    this.open = undefined;
    block.finished = finishedBlock(block, message);
    return [{ event: 'content-block-finish', index, content: block.finished }];
  }

  /** What the answer has and was not streamed. */
  private missing(message: AiMessage): Block[] {
    const streamed = (kind: StreamedBlock['kind']): boolean => this.blocks.some((block) => block.kind === kind);
    const ids = new Set(this.blocks.map(({ id }) => id));
    const content = contentBlocks(message.content).filter(({ type }) => type !== 'text' || !streamed('text'));
    const reasoning = reasoningOf(message);
    return [
      ...(reasoning === '' || streamed('reasoning') ? [] : [reasoningBlock(reasoning)]),
      ...content.filter(({ type }) => type !== 'reasoning' || !streamed('reasoning')),
      ...callBlocks(message).filter(({ id }) => !ids.has(id as string)),
    ];
  }
}

/** The events of a block that was not streamed. */
export const wholeBlock = (index: number, content: Block): MessagesData[] => [
  { event: 'content-block-start', index, content: isCall(content) ? toChunk(content) : content },
  { event: 'content-block-finish', index, content },
];

const isCall = ({ type }: Block): boolean => type === 'tool_call' || type === 'invalid_tool_call';

const toChunk = ({ id, name, args }: Block): Block => ({
  type: 'tool_call_chunk',
  id,
  name,
  args: typeof args === 'string' ? args : JSON.stringify(args),
});

function finishedBlock(block: StreamedBlock, message: AiMessage | undefined): Block {
  if (block.kind === 'text') return textBlock(block.text);
  if (block.kind === 'reasoning') return reasoningBlock(block.text);
  return (message && callOf(block, message)) ?? parsedCall(block);
}

const callOf = ({ id }: StreamedBlock, message: AiMessage): Block | undefined =>
  callBlocks(message).find((call) => call['id'] === id);

function parsedCall({ id = null, name = '', text }: StreamedBlock): Block {
  try {
    const args: unknown = JSON.parse(text === '' ? '{}' : text);
    if (isRecord(args)) return { type: 'tool_call', id, name, args };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return { type: 'invalid_tool_call', id, name, args: text, error: 'the arguments are not a JSON object' };
}
