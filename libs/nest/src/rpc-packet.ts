import { utf8Text } from '@caribou/core';

/** A request in Nest's protocol; without an id it is an event without a reply. */
export interface RpcPacket {
  readonly pattern: unknown;
  readonly data: unknown;
  readonly id?: string;
}

/** Parses a request; an invalid packet becomes one without data, which the handler's contract refuses. */
export function readPacket(
  bytes: Uint8Array,
  options?: { readonly channel?: string; readonly replyTo?: string },
): RpcPacket {
  const value = jsonOrUndefined(bytes);
  const unread = {
    pattern: options?.channel,
    data: undefined,
    ...(options?.replyTo === undefined ? {} : { id: 'unreadable' }),
  };
  if (typeof value !== 'object' || value === null || !('data' in value)) return unread;
  const id = 'id' in value && typeof value.id === 'string' ? { id: value.id } : {};
  return { pattern: 'pattern' in value ? value.pattern : options?.channel, data: value.data, ...id };
}

function jsonOrUndefined(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8Text(bytes));
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}
