import { ThreadId, UserId } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { z } from 'zod';

const VERSION = 1;

const Payload = z.object({ user_id: UserId, thread_id: ThreadId, v: z.number().int().min(1) });

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const encodeWake = ({ userId, threadId }: ThreadKey): Uint8Array =>
  encoder.encode(JSON.stringify({ user_id: userId, thread_id: threadId, v: VERSION }));

export type DecodedWake =
  | { readonly kind: 'wake'; readonly thread: ThreadKey }
  /** Made by newer code: for a newer runner. */
  | { readonly kind: 'newer' }
  | { readonly kind: 'malformed'; readonly reason: string };

/** Reads a wake; the subject and the payload must name the same thread. */
export function decodeWake(subject: string, data: Uint8Array): DecodedWake {
  const parsed = Payload.safeParse(jsonOrUndefined(data));
  if (!parsed.success) return { kind: 'malformed', reason: z.prettifyError(parsed.error) };
  if (parsed.data.v > VERSION) return { kind: 'newer' };
  const { user_id: userId, thread_id: threadId } = parsed.data;
  const [, user, thread] = subject.split('.');
  if (user !== userId || thread !== threadId) return { kind: 'malformed', reason: 'subject and payload differ' };
  return { kind: 'wake', thread: { userId, threadId } };
}

function jsonOrUndefined(data: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(data));
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}
