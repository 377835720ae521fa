import {
  type AiMessage,
  CallPart,
  isRecord,
  type Message,
  omitUndefined,
  type ProviderExtras,
} from '@caribou/contracts';

/**
 * The answer with the extras of the provider that still fit it: without those of calls that it no longer has, and without
 * `parts` when its content is not that of `before`. Other messages, and answers whose extras fit, are returned unchanged.
 *
 * @param before the answer as it was, when `after` replaces it
 */
export function withFittingExtras<T extends Message>(before: Message | undefined, after: T): T {
  if (after.type !== 'ai' || after.provider_extras === undefined) return after;
  const extras = after.provider_extras;
  const fitting = fittingExtras(after, extras, before === undefined || before.content === after.content);
  return fitting === extras ? after : { ...after, provider_extras: fitting };
}

function fittingExtras(message: AiMessage, extras: ProviderExtras, sameContent: boolean): ProviderExtras {
  const ids = new Set([...message.tool_calls, ...message.invalid_tool_calls].map(({ id }) => id));
  const { calls, parts, ...rest } = extras;
  const left = Object.entries(calls ?? {}).filter(([id]) => ids.has(id));
  const shown = sameContent ? parts?.filter((part) => !isCallPart(part) || ids.has(part.call)) : undefined;
  if (left.length === Object.keys(calls ?? {}).length && shown?.length === parts?.length) return extras;
  return {
    ...rest,
    ...omitUndefined({ parts: shown }),
    ...(left.length === 0 ? {} : { calls: Object.fromEntries(left) }),
  };
}

const isCallPart = (part: unknown): part is CallPart => isRecord(part) && CallPart.safeParse(part).success;
