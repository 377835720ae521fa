import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One SSE frame as sent; `data` is parsed JSON. A comment line (heartbeat) is a frame with `comment` only. */
export interface Frame {
  event?: string;
  id?: string;
  data?: unknown;
  comment?: string;
}

export interface Recording {
  request: { method: string; path: string; body: { stream_mode: string[]; [key: string]: unknown } };
  status: number;
  headers: Record<string, string>;
  frames: Frame[];
  /** Present when the script cancels its run in mid-stream. */
  cancel?: { request: object; status: number; body: unknown; model_stream_closed: boolean[] };
}

export const SCRIPT_NAMES = ['plain-text', 'one-tool', 'parallel-tools', 'model-failure', 'cancel-midstream'] as const;
export type ScriptName = (typeof SCRIPT_NAMES)[number];

export const MODE_NAMES = [
  'values',
  'messages-tuple',
  'updates',
  'custom',
  'messages',
  'events',
  'debug',
  'tasks',
  'checkpoints',
  'tools',
  'combined',
] as const;
export type ModeName = (typeof MODE_NAMES)[number];

/** Loads what the peer sent for one script in one stream mode (`combined` is values, messages-tuple, updates, custom). */
export function loadRecording(script: ScriptName, mode: ModeName): Recording {
  return JSON.parse(readFileSync(join(__dirname, script, `${mode}.json`), 'utf8')) as Recording;
}

/** An object with string keys, not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `human`, `ai`, `tool`, `system` or `remove` for a message of either flavour (`AIMessageChunk` is `ai`), else undefined. */
export function messageType(value: unknown): string | undefined {
  if (!isRecord(value) || typeof value.type !== 'string') return undefined;
  if (!('content' in value) && value.type !== 'remove') return undefined;
  const type = value.type.replace(/Message(Chunk)?$/, '').toLowerCase();
  return ['human', 'ai', 'tool', 'system', 'remove'].includes(type) ? type : undefined;
}
