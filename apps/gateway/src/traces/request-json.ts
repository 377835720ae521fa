import { type RequestReply, toClientMessage } from '@caribou/contracts';
import type { MissingReason, StoredRequest } from '@caribou/state';

type Missing = RequestReply['missing'][number];

/** A request as the API shows it: what the provider wants back with its answers is left out. */
export function requestJson(
  request: StoredRequest,
  { runId, call, offset }: { readonly runId: string; readonly call: number; readonly offset: number },
): RequestReply {
  const { system, tools, messages, totalMessages } = request;
  const end = offset + messages.length;
  return {
    run_id: runId,
    call,
    at: request.at,
    model: request.model,
    provider_model: request.providerModel,
    checkpoint_id: request.checkpointId,
    parameters: { ...request.parameters },
    system: typeof system === 'string' ? system : null,
    tools: 'missing' in tools ? null : [...tools],
    messages: messages.map(({ index, from, message }) => ({
      index,
      from,
      message: typeof message === 'string' ? null : toClientMessage(message),
    })),
    total_messages: totalMessages,
    next_offset: messages.length > 0 && end < totalMessages ? end : null,
    missing: [
      ...(typeof system === 'string' ? [] : [{ part: 'system', reason: system.missing } as const]),
      ...('missing' in tools ? [{ part: 'tools', reason: tools.missing } as const] : []),
      ...missingMessages(messages),
    ],
  };
}

/** The messages of the page that are not there, in ranges. */
function missingMessages(messages: StoredRequest['messages']): Missing[] {
  const ranges: (Missing & { from: number; count: number })[] = [];
  for (const { index, message } of messages) {
    if (typeof message !== 'string') continue;
    const reason: MissingReason = message;
    const last = ranges.at(-1);
    if (last !== undefined && last.reason === reason && last.from + last.count === index) last.count += 1;
    else ranges.push({ part: 'messages', reason, from: index, count: 1 });
  }
  return ranges;
}
