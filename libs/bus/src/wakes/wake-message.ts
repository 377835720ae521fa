import { ThreadId, UserId } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { z } from 'zod';

export const VERSION = 1;

export const Thread = z.object({ user_id: UserId, thread_id: ThreadId });
const Version = z.object({ v: z.number().int().min(1) });
const Payload = Thread.extend(Version.shape);

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const encodeWake = ({ userId, threadId }: ThreadKey): Uint8Array =>
  encoder.encode(JSON.stringify({ user_id: userId, thread_id: threadId, v: VERSION }));

export type DecodedWake =
  | { readonly kind: 'wake'; readonly thread: ThreadKey; readonly newer: boolean }
  | { readonly kind: 'malformed'; readonly reason: string };

/**
 * Parses a wake; the subject and the payload must name the same thread. A wake only names a thread, so one of a newer
 * version is also accepted, for the thread of its subject: versions that run side by side publish for each other, and
 * the claim decides whether this version can execute the run.
 */
export function decodeWake(subject: string, data: Uint8Array): DecodedWake {
  const [, user, thread] = subject.split('.');
  const payload = jsonOrUndefined(data);
  const version = Version.safeParse(payload);
  const named = Thread.safeParse({ user_id: user, thread_id: thread });
  if (version.success && version.data.v > VERSION && named.success)
    return { kind: 'wake', thread: keyOf(named.data), newer: true };
  const parsed = Payload.safeParse(payload);
  if (!parsed.success) return { kind: 'malformed', reason: z.prettifyError(parsed.error) };
  if (user !== parsed.data.user_id || thread !== parsed.data.thread_id)
    return { kind: 'malformed', reason: 'subject and payload differ' };
  return { kind: 'wake', thread: keyOf(parsed.data), newer: false };
}

export const keyOf = ({ user_id: userId, thread_id: threadId }: z.output<typeof Thread>): ThreadKey => ({
  userId,
  threadId,
});

export function jsonOrUndefined(data: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(data));
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}
