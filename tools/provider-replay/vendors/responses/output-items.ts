import type { ToolCallDelta } from '../../../demo-model/reply.js';
import type { IssuedExtras } from '../../framework/issued-extras.js';
import type { PrefixChain } from '../../framework/prefix-chain.js';
import { comparableItem, REASONING_EXTRA } from './checks/reasoning.js';
import type { InputItem } from './shape.js';

/** An event of the stream without its number. */
export type StreamEvent = { type: string } & Record<string, unknown>;

export interface OutputOptions {
  readonly responseId: string;
  readonly model: string;
  readonly extras: IssuedExtras;
  readonly chain: PrefixChain;
  /** Whether the model reasons on this request. */
  readonly reasons: boolean;
  readonly summaries: boolean;
  readonly encrypted: boolean;
}

type Item = Extract<InputItem, { id?: string | null | undefined }>;

interface Open {
  readonly kind: 'reasoning' | 'message' | 'refusal' | 'function_call';
  readonly id: string;
  text: string;
  readonly call?: { callId: string; name: string; index: number };
}

/** Builds the items of a response one after the other, with the events that tell of them. */
export class OutputItems {
  readonly done: Item[] = [];
  private open: Open | undefined;

  constructor(private readonly options: OutputOptions) {}

  reasoning(text: string): StreamEvent[] {
    if (!this.options.reasons) return [];
    const { summaries } = this.options;
    const events = this.open?.kind === 'reasoning' ? [] : this.begin('reasoning', 'rs');
    const place = this.place();
    if (events.length > 0 && summaries) {
      const part = { type: 'summary_text', text: '' };
      events.push({ type: 'response.reasoning_summary_part.added', ...place, summary_index: 0, part });
    }
    this.grow(text);
    if (summaries)
      events.push({ type: 'response.reasoning_summary_text.delta', ...place, summary_index: 0, delta: text });
    return events;
  }

  text(text: string): StreamEvent[] {
    return this.content('message', text, { part: { type: 'output_text', text: '', annotations: [], logprobs: [] } });
  }

  refusal(text: string): StreamEvent[] {
    return this.content('refusal', text, { part: { type: 'refusal', refusal: '' } });
  }

  call({ index, id, function: called }: ToolCallDelta): StreamEvent[] {
    const same = this.open?.call?.index === index;
    const events = same ? [] : this.begin('function_call', 'fc', { callId: id ?? '', name: called.name ?? '', index });
    this.grow(called.arguments);
    if (called.arguments === '') return events;
    return [...events, { type: 'response.function_call_arguments.delta', ...this.place(), delta: called.arguments }];
  }

  /** Ends the item that is under way. */
  close(status: 'completed' | 'incomplete'): StreamEvent[] {
    const open = this.open;
    if (open === undefined) return [];
    const place = this.place();
    const item = this.finished(open, status);
    this.open = undefined;
    this.done.push(item);
    if (item.type !== 'reasoning') this.options.chain.add('input', comparableItem(item));
    const { output_index } = place;
    return [...this.endings(open, place), { type: 'response.output_item.done', output_index, item }];
  }

  private content(kind: 'message' | 'refusal', text: string, { part }: { part: object }): StreamEvent[] {
    const events = this.open?.kind === kind ? [] : this.begin(kind, 'msg');
    const place = { ...this.place(), content_index: 0 };
    if (events.length > 0) events.push({ type: 'response.content_part.added', ...place, part });
    this.grow(text);
    const type = kind === 'message' ? 'response.output_text.delta' : 'response.refusal.delta';
    return [...events, { type, ...place, delta: text, ...(kind === 'message' ? { logprobs: [] } : {}) }];
  }

  private begin(kind: Open['kind'], prefix: string, call?: Open['call']): StreamEvent[] {
    const events = this.close('completed');
    const id = `${prefix}_${this.options.responseId}${this.done.length}`;
    this.open = { kind, id, text: '', ...(call === undefined ? {} : { call }) };
    return [
      ...events,
      { type: 'response.output_item.added', output_index: this.done.length, item: this.begun(this.open) },
    ];
  }

  /** The item as it is at its beginning; encrypted content may not be whole yet. */
  private begun({ kind, id, call }: Open): object {
    if (kind === 'reasoning') {
      return { id, type: kind, summary: [], ...(this.options.encrypted ? { encrypted_content: 'gAAAA' } : {}) };
    }
    if (kind === 'function_call') {
      return { id, type: kind, status: 'in_progress', arguments: '', call_id: call?.callId, name: call?.name };
    }
    return { id, type: 'message', status: 'in_progress', content: [], role: 'assistant' };
  }

  private finished({ kind, id, text, call }: Open, status: 'completed' | 'incomplete'): Item {
    if (kind === 'reasoning') {
      const summary = this.options.summaries ? [{ type: 'summary_text' as const, text }] : [];
      return {
        id,
        type: kind,
        summary,
        ...(this.options.encrypted ? { encrypted_content: this.encrypt(id) } : this.passed(id)),
      };
    }
    if (kind === 'function_call') {
      return { id, type: kind, status, arguments: text, call_id: call?.callId ?? '', name: call?.name ?? '' };
    }
    const part =
      kind === 'refusal'
        ? { type: kind, refusal: text }
        : { type: 'output_text' as const, annotations: [], logprobs: [], text };
    return { id, type: 'message', status, content: [part], role: 'assistant' };
  }

  private encrypt(id: string): string {
    const { extras, model, chain } = this.options;
    const token = extras.issue(REASONING_EXTRA, { id, model, ...chain.position() });
    chain.addOpaque(token);
    return token;
  }

  /** Reasoning without encrypted content is known by its id. */
  private passed(id: string): object {
    this.options.chain.addOpaque(id);
    return {};
  }

  private endings({ kind, text, call }: Open, place: { item_id: string; output_index: number }): StreamEvent[] {
    if (kind === 'function_call') {
      return [{ type: 'response.function_call_arguments.done', ...place, name: call?.name, arguments: text }];
    }
    if (kind === 'reasoning') {
      if (!this.options.summaries) return [];
      const summary = { ...place, summary_index: 0 };
      return [
        { type: 'response.reasoning_summary_text.done', ...summary, text },
        { type: 'response.reasoning_summary_part.done', ...summary, part: { type: 'summary_text', text } },
      ];
    }
    const content = { ...place, content_index: 0 };
    if (kind === 'refusal') {
      return [
        { type: 'response.refusal.done', ...content, refusal: text },
        { type: 'response.content_part.done', ...content, part: { type: kind, refusal: text } },
      ];
    }
    return [
      { type: 'response.output_text.done', ...content, text, logprobs: [] },
      {
        type: 'response.content_part.done',
        ...content,
        part: { type: 'output_text', annotations: [], logprobs: [], text },
      },
    ];
  }

  private place(): { item_id: string; output_index: number } {
    return { item_id: this.open?.id ?? '', output_index: this.done.length };
  }

  private grow(text: string): void {
    if (this.open !== undefined) this.open.text += text;
  }
}
