import type { ChannelName, CheckpointMetadata, NextNode } from '@caribou/contracts';
import { parseStored } from '../redis/stored-json.js';
import type { EntryRange } from './head-log.js';

/** A checkpoint as Redis stores it; the script that writes it generates `id` and `created_at`. */
export interface StoredCheckpoint {
  readonly id: string;
  readonly created_at: string;
  readonly parent: string | null;
  readonly ranges: readonly EntryRange[];
  readonly channels: Readonly<Partial<Record<ChannelName, number>>>;
  /** Size of the state: the bytes of its entries. Absent in checkpoints of earlier versions. */
  readonly bytes?: number;
  readonly metadata: CheckpointMetadata;
  readonly next: readonly NextNode[];
  readonly error?: { readonly name: string; readonly message: string };
}

/** What the writer of a checkpoint knows. */
export type CheckpointBody = Omit<StoredCheckpoint, 'id' | 'created_at' | 'error'> & {
  readonly bytes: number;
  readonly error: StoredCheckpoint['error'];
};

/** A stored checkpoint without names, described in `includes/checkpoint-text.lua`. */
type CompactCheckpoint = readonly [
  parent: string | number | null,
  ranges: readonly EntryRange[],
  channels: StoredCheckpoint['channels'],
  bytes: number,
  source: CheckpointMetadata['source'],
  step: number,
  runId: string,
  next: readonly NextNode[],
  error?: StoredCheckpoint['error'],
];

const COMPACT_METADATA = ['source', 'step', 'run_id'];

/**
 * The text that a script completes and stores: in the compact form, which services of earlier versions cannot read, where
 * that is wanted and the metadata fit.
 */
export function checkpointText(body: CheckpointBody, compact: boolean): string {
  const { ranges, channels, bytes, metadata, next, error } = body;
  if (!compact || Object.keys(metadata).some((name) => !COMPACT_METADATA.includes(name))) return JSON.stringify(body);
  const { source, step, run_id: runId = '' } = metadata;
  const values = [ranges, channels, bytes, source, step, runId, next];
  return JSON.stringify(error === undefined ? values : [...values, error]);
}

/** Parses a stored checkpoint in either form. @throws {BugError} when it is not JSON */
export function parseCheckpoint(id: string, text: string): StoredCheckpoint {
  const stored = parseStored<StoredCheckpoint | CompactCheckpoint>(text);
  if (!isCompact(stored)) return stored;
  const [parent, ranges, channels, bytes, source, step, runId, next, error] = stored;
  return {
    id,
    created_at: new Date(Math.floor(microsOf(id) / 1000)).toISOString(),
    parent: typeof parent === 'number' ? earlierId(id, parent) : parent,
    ranges,
    channels,
    bytes,
    metadata: runId === '' ? { source, step } : { source, step, run_id: runId },
    next,
    ...(error === undefined ? {} : { error }),
  };
}

const isCompact = (stored: StoredCheckpoint | CompactCheckpoint): stored is CompactCheckpoint => Array.isArray(stored);

/** The time in µs at which an id was generated (`mint_checkpoint` in checkpoint.lua). */
const microsOf = (id: string): number =>
  Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) * 1000 + Number.parseInt(id.slice(15, 18), 16);

/** The id of a checkpoint of the same thread that was generated so many µs before. */
function earlierId(id: string, by: number): string {
  const micros = microsOf(id) - by;
  const ms = Math.floor(micros / 1000)
    .toString(16)
    .padStart(12, '0');
  const rest = (micros % 1000).toString(16).padStart(3, '0');
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${rest}${id.slice(18)}`;
}
