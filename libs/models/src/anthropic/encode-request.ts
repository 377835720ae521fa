import { memoize } from '@caribou/core';
import type { CacheControl, MessagesRequest, OpaqueBlock, ToolDefinition, Turn } from './request-types.js';

/**
 * Encodes a request as JSON, in the order of the provider's prefix: tools, system, messages. Tools are most of it and the same in
 * nearly all requests, so each is serialized once; the last one gets its breakpoint as text.
 */
export function encodeRequest(
  { tools, system, messages, ...fields }: MessagesRequest<OpaqueBlock>,
  mark: CacheControl | undefined,
): Buffer {
  const parts = [
    JSON.stringify(fields).slice(1, -1),
    ...(tools === undefined ? [] : [`"tools":[${toolsJson(tools, mark)}]`]),
    ...(system === undefined ? [] : [`"system":${JSON.stringify(system)}`]),
    `"messages":${JSON.stringify(messages.map(unwrapped))}`,
  ];
  return Buffer.from(`{${parts.join(',')}}`);
}

function toolsJson(tools: readonly ToolDefinition[], mark: CacheControl | undefined): string {
  const json = tools.map(jsonOf).join(',');
  return mark === undefined ? json : `${json.slice(0, -1)},"cache_control":${JSON.stringify(mark)}}`;
}

const jsonOf = memoize((tool: ToolDefinition) => JSON.stringify(tool));

/** Blocks of the provider as they came. */
function unwrapped(turn: Turn<OpaqueBlock>): unknown {
  if (turn.role !== 'assistant' || !turn.content.some(({ type }) => type === 'opaque')) return turn;
  return { ...turn, content: turn.content.map((block) => (block.type === 'opaque' ? block.block : block)) };
}
