import type { Clock, Logger } from '@caribou/core';
import { openObjectStore, type OpenedStore } from '../index.js';
import { objectStoreConfig, type S3StoreConfig } from '@caribou/config';
import { s3Section } from './s3-section.js';

export interface ScriptedStore {
  readonly store: OpenedStore;
  /** Pauses between attempts, which take no time. */
  readonly pauses: readonly number[];
  /** All that was logged, as text. */
  readonly logged: readonly string[];
}

export interface ScriptedOptions {
  readonly nowMs?: () => number;
  readonly changes?: Partial<S3StoreConfig>;
}

/** Objects of more than 1,000 bytes are sent in parts of 400, which real stores do not take. */
export const SMALL_PARTS: Partial<S3StoreConfig> = { multipartBytes: 1_000, partBytes: 400 };

/** A store on an S3 server of a test, whose clock does not wait. `nowMs` is its time, `changes` replaces checked settings. */
export function openScripted(
  endpoint: string,
  more: Readonly<Record<string, unknown>> = {},
  { nowMs = Date.now, changes = {} }: ScriptedOptions = {},
): ScriptedStore {
  const pauses: number[] = [];
  const logged: string[] = [];
  const clock: Clock = {
    now: nowMs,
    monotonicMs: () => performance.now(),
    sleep: (ms, signal) => {
      pauses.push(ms);
      return signal?.aborted === true ? Promise.reject(signal.reason as Error) : Promise.resolve();
    },
  };
  const settings = objectStoreConfig(
    s3Section(endpoint, { accessKeyId: 'an-id', secretAccessKey: 'a-secret' }, more),
    '/unused',
  );
  if (settings.kind !== 's3') throw new Error('the section is not one of S3');
  const changed = { ...settings, s3: { ...settings.s3, ...changes } };
  return { store: openObjectStore(changed, recorder(logged), clock), pauses, logged };
}

function recorder(lines: string[]): Logger {
  const write = (fields: object, message: string): void => {
    const { error, ...rest } = fields as { readonly error?: unknown };
    lines.push(`${message} ${JSON.stringify(rest)} ${error instanceof Error ? (error.stack ?? '') : ''}`);
  };
  const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
  return logger;
}
