import type { RunEvent, RunEventOf } from '@caribou/contracts';
import { copyWith } from '@caribou/core';

type Delta = RunEventOf<'message.delta'>;
type Chunk = NonNullable<Delta['tool_call_chunks']>[number];

/** Joined deltas have fewer UTF-16 units than this, so that a stalled log does not make frames grow without limit. */
const MAX_JOINED_UNITS = 16_384;

/** Maximum number of deltas joined into one: an answer that arrives in one burst is still shown in steps. */
const MAX_JOINED_DELTAS = 16;

/**
 * Joins consecutive deltas of the same message, so that a slow log delays frames but loses no tokens. The concatenation
 * of content, reasoning and each tool call's arguments does not change.
 */
export function coalesce(events: readonly RunEvent[]): RunEvent[] {
  const joined: RunEvent[] = [];
  let deltasInLast = 0;
  for (const event of events) {
    const last = joined.at(-1);
    const fits = last?.kind === 'message.delta' && event.kind === 'message.delta' && deltasInLast < MAX_JOINED_DELTAS;
    if (fits && mayJoin(last, event)) {
      joined[joined.length - 1] = join(last, event);
      deltasInLast += 1;
    } else {
      joined.push(event);
      deltasInLast = 1;
    }
  }
  return joined;
}

function mayJoin(first: Delta, second: Delta): boolean {
  return (
    first.message_id === second.message_id &&
    first.usage === undefined &&
    second.usage === undefined &&
    first.response_metadata === undefined &&
    second.response_metadata === undefined &&
    size(first) + size(second) <= MAX_JOINED_UNITS
  );
}

const size = (delta: Delta): number =>
  delta.content.length +
  (delta.reasoning?.length ?? 0) +
  (delta.tool_call_chunks ?? []).reduce((sum, chunk) => sum + chunk.args.length, 0);

function join(first: Delta, second: Delta): Delta {
  const chunks = joinChunks([...(first.tool_call_chunks ?? []), ...(second.tool_call_chunks ?? [])]);
  const reasoning = (first.reasoning ?? '') + (second.reasoning ?? '');
  const text = copyWith(first, { content: first.content + second.content });
  if (reasoning === '' && chunks.length === 0) return text;
  return {
    ...text,
    ...(reasoning === '' ? {} : { reasoning }),
    ...(chunks.length === 0 ? {} : { tool_call_chunks: chunks }),
  };
}

function joinChunks(chunks: readonly Chunk[]): Chunk[] {
  const byIndex = new Map<number, Chunk>();
  for (const chunk of chunks) {
    const known = byIndex.get(chunk.index);
    byIndex.set(
      chunk.index,
      known === undefined
        ? chunk
        : { ...known, name: known.name ?? chunk.name, id: known.id ?? chunk.id, args: known.args + chunk.args },
    );
  }
  return [...byIndex.values()];
}
