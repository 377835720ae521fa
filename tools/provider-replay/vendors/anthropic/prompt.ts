import type { MessagesRequest, RequestBlock } from './shape.js';
import { isThinking, turnsOf } from './turns.js';

/** A mark of the client that the prompt up to here is to be cached. */
export interface CacheMark {
  readonly path: string;
  readonly ttl: '5m' | '1h';
  readonly onEmptyText: boolean;
}

/** One block of the prompt, in the order in which the model reads it: tools, system, messages. */
export interface PromptBlock {
  readonly part: 'tools' | 'system' | 'messages';
  readonly owner: string;
  readonly path: string;
  /** The block without its marks, as it is compared and counted; object keys stay in the order in which they were sent. */
  readonly content: unknown;
  readonly marks: readonly CacheMark[];
  /** The block as it was sent, of a message only. */
  readonly block?: RequestBlock;
}

/** The whole prompt of a request. A mark for the whole request is one on the last block that can carry it. */
export function promptOf(request: MessagesRequest): PromptBlock[] {
  const { tools = [], system, cache_control: automatic } = request;
  const blocks: PromptBlock[] = [
    ...tools.map((tool, at) => blockOf('tools', 'tools', `tools.${at}`, tool)),
    ...systemBlocks(system).map((text, at) => blockOf('system', 'system', `system.${at}`, text)),
    ...turnsOf(request).flatMap(({ role, blocks: placed }) =>
      placed.map(({ path, block }) => ({ ...blockOf('messages', role, path, block), block })),
    ),
  ];
  if (!automatic) return blocks;
  const last = blocks.findLastIndex(({ block }) => block === undefined || canCarryMark(block));
  return blocks.map((block, at) => {
    if (at !== last || block.marks.length > 0) return block;
    return { ...block, marks: [{ path: block.path, ttl: automatic.ttl ?? '5m', onEmptyText: false }] };
  });
}

const canCarryMark = (block: RequestBlock): boolean =>
  !isThinking(block) && !(block.type === 'text' && block.text === '');

function systemBlocks(system: MessagesRequest['system']): Exclude<MessagesRequest['system'], string | undefined> {
  if (typeof system !== 'string') return system ?? [];
  return system === '' ? [] : [{ type: 'text', text: system }];
}

function blockOf(part: PromptBlock['part'], owner: string, path: string, value: object): PromptBlock {
  return { part, owner, path, content: comparable(value), marks: marksIn(value, path) };
}

interface Marked {
  cache_control?: { ttl?: '5m' | '1h' | undefined } | null | undefined;
  text?: unknown;
  content?: unknown;
}

/** The marks on a block and on the blocks inside it, in order. */
function marksIn(value: Marked, path: string): CacheMark[] {
  const inner = Array.isArray(value.content)
    ? value.content.flatMap((part: Marked, at) => marksIn(part, `${path}.content.${at}`))
    : [];
  if (!value.cache_control) return inner;
  return [...inner, { path, ttl: value.cache_control.ttl ?? '5m', onEmptyText: value.text === '' }];
}

const DEFAULTS: Readonly<Record<string, unknown>> = { is_error: false, citations: null, toolset_name: null };

/** What a block says to the model: without marks, values that are defaults, and the long form of a text. */
export function comparable(value: object): unknown {
  const entries = Object.entries(value).flatMap(([key, inner]: [string, unknown]): [string, unknown][] => {
    if (key === 'cache_control' || key === 'caller' || inner === undefined) return [];
    if (key in DEFAULTS && DEFAULTS[key] === inner) return [];
    if (key === 'content' && typeof inner === 'string') return [[key, [{ type: 'text', text: inner }]]];
    if (key === 'content' && Array.isArray(inner)) return [[key, inner.map((part: object) => comparable(part))]];
    return [[key, inner]];
  });
  return Object.fromEntries(isSchema(value) ? entries : entries.sort(byTopKey));
}

/** The keys of a block itself are read by name; those of values inside it count in their order. */
const byTopKey = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1);
const isSchema = (value: object): boolean => 'input_schema' in value;
