import type { ToolCallDelta } from '../../../demo-model/reply.js';
import { comparable } from './prompt.js';
import type { RequestBlock } from './shape.js';
import type { ThinkingIssuer } from './thinking-blocks.js';

/** How thinking of this answer is returned; `none`: the model does not think. */
export type ThinkingDisplay = 'none' | 'omitted' | 'summarized';

/** A text of thinking that begins so is returned as a redacted block. */
export const REDACTED = '[redacted]';

/** An event of the stream without its name. */
export type StreamEvent = { type: string } & Record<string, unknown>;

interface Open {
  readonly kind: 'text' | 'thinking' | 'redacted_thinking' | 'tool_use';
  text: string;
  readonly call?: { id: string; name: string; index: number };
}

/** Builds the blocks of an answer one after the other, with the events that tell of them. */
export class AnswerBlocks {
  readonly done: RequestBlock[] = [];
  private open: Open | undefined;

  constructor(
    private readonly issuer: ThinkingIssuer,
    private readonly display: ThinkingDisplay,
  ) {}

  text(text: string): StreamEvent[] {
    const events = this.begin({ kind: 'text', text: '' }, { type: 'text', text: '', citations: null });
    return [...events, ...this.grow(text, { type: 'text_delta', text })];
  }

  thinking(text: string): StreamEvent[] {
    if (this.display === 'none') return [];
    if (this.open?.kind === 'redacted_thinking') return this.grow(text, undefined);
    if (this.open?.kind !== 'thinking' && text.trimStart().startsWith(REDACTED)) {
      const events = this.close();
      this.open = { kind: 'redacted_thinking', text };
      return events;
    }
    const events = this.begin({ kind: 'thinking', text: '' }, { type: 'thinking', thinking: '', signature: '' });
    const delta = { type: 'thinking_delta', thinking: text };
    return [...events, ...this.grow(text, this.display === 'omitted' ? undefined : delta)];
  }

  call({ index, id, function: called }: ToolCallDelta): StreamEvent[] {
    if (this.open?.call?.index === index) {
      return this.grow(called.arguments, { type: 'input_json_delta', partial_json: called.arguments });
    }
    const call = { index, id: id ?? '', name: called.name ?? '' };
    const events = [
      ...this.close(),
      ...this.begin(
        { kind: 'tool_use', text: '', call },
        { type: 'tool_use', id: call.id, name: call.name, input: {}, caller: { type: 'direct' } },
      ),
    ];
    return [...events, ...this.grow(called.arguments, { type: 'input_json_delta', partial_json: called.arguments })];
  }

  /** Ends the block that is under way. */
  close(): StreamEvent[] {
    const open = this.open;
    if (open === undefined) return [];
    this.open = undefined;
    const index = this.done.length;
    const stop: StreamEvent = { type: 'content_block_stop', index };
    const block = this.finished(open);
    this.done.push(block);
    if (block.type === 'redacted_thinking') return [{ type: 'content_block_start', index, content_block: block }, stop];
    if (block.type !== 'thinking') {
      this.issuer.said(comparable(block));
      return [stop];
    }
    return [
      { type: 'content_block_delta', index, delta: { type: 'signature_delta', signature: block.signature } },
      stop,
    ];
  }

  private begin(open: Open, contentBlock: object): StreamEvent[] {
    if (this.open?.kind === open.kind) return [];
    const events = this.close();
    this.open = open;
    return [...events, { type: 'content_block_start', index: this.done.length, content_block: contentBlock }];
  }

  private grow(text: string, delta: object | undefined): StreamEvent[] {
    if (this.open === undefined) throw new Error('no block is open');
    this.open.text += text;
    return delta === undefined ? [] : [{ type: 'content_block_delta', index: this.done.length, delta }];
  }

  private finished({ kind, text, call }: Open): RequestBlock {
    if (kind === 'text') return { type: 'text', text };
    if (kind === 'redacted_thinking') return { type: kind, data: this.issuer.issue(kind, '') };
    if (kind === 'thinking') {
      const thinking = this.display === 'omitted' ? '' : text;
      return { type: kind, thinking, signature: this.issuer.issue(kind, thinking) };
    }
    return { type: kind, id: call?.id ?? '', name: call?.name ?? '', input: parsed(text) };
  }
}

/** The input of a call; what is no object of JSON, as after a cut by max_tokens, is given back empty. */
function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  } catch (cause) {
    if (cause instanceof SyntaxError) return {};
    throw cause;
  }
}
