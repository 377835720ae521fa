import { randomUUID } from 'node:crypto';
import { z } from 'zod';

/**
 * Ids become parts of NATS subjects, Redis keys and file paths, so the pattern admits nothing that has a
 * meaning in any of the three: no dots, wildcards, spaces, slashes or control characters.
 */
const strictId = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** User (owner) id: part of every key, subject and lookup. */
export const UserId = z
  .string()
  .regex(strictId, 'must be 1 to 64 letters, digits, "_" or "-", starting with a letter or digit');
export type UserId = z.infer<typeof UserId>;

/** Thread id: a UUID when the server creates it; a client may choose any id of the strict pattern. */
export const ThreadId = UserId.describe('Thread id');
export type ThreadId = z.infer<typeof ThreadId>;

/** Run id: always created by the server, always a UUID. */
export const RunId = z.uuid();
export type RunId = z.infer<typeof RunId>;

/**
 * Checkpoint id: created inside the commit script from Redis TIME, laid out as a UUID whose hex digits rise with time,
 * as clients sort them as strings.
 */
export const CheckpointId = z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be a checkpoint id');
export type CheckpointId = z.infer<typeof CheckpointId>;

/** Denotes the state before a thread's first checkpoint, for a run that starts over from there. */
export const BEFORE_FIRST_CHECKPOINT: CheckpointId = '00000000-0000-7000-8000-000000000001';

/** The owner when authentication is off. */
export const DEFAULT_USER_ID = 'default';

/** A fresh random id (UUID v4) for threads, runs, messages and owners of leases. */
export const newId = (): string => randomUUID();

/** A new id for a tool call, created at its first chunk because models repeat theirs. */
export const newToolCallId = (): string => `call_${randomUUID().replaceAll('-', '')}`;
