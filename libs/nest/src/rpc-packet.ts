import { decodeAttached, hasAttachments, utf8Text } from '@caribou/core';
import { z } from 'zod';

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
    return hasAttachments(bytes) ? withAttached(bytes) : JSON.parse(utf8Text(bytes));
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

/** What a request with attached texts says of them: the fields of its data that they belong to, in order, with their bytes. */
const Attached = z.looseObject({
  data: z.looseObject({}),
  attached: z.array(z.tuple([z.string(), z.number().int().min(0)])),
});

/** @throws {SyntaxError} when it does not say what is attached */
function withAttached(bytes: Uint8Array): unknown {
  const { value, attachments } = decodeAttached(bytes);
  const packet = Attached.safeParse(value);
  if (!packet.success) throw new SyntaxError('the request does not name what is attached');
  const { data, attached, ...rest } = packet.data;
  let from = 0;
  const fields = attached.map(([name, length]) => [name, attachments.subarray(from, (from += length))] as const);
  if (from !== attachments.byteLength) throw new SyntaxError('more or less is attached than the request says');
  return { ...rest, data: { ...data, ...Object.fromEntries(fields) } };
}
