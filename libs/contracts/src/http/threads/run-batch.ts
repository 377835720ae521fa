import { z } from 'zod';
import { isRecord } from '../../common/is-record.js';
import { RunCreate } from './run-create.js';

const MAX_BATCH = 100;

/** Options of the SDK's process, which it sends along in a batch. */
const ofClient = new Set(['onRunCreated', 'signal', 'streamIdleReconnect', 'streamNamespaces', 'raiseError']);

const toSnakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * The names that the SDK's `createBatch` uses: it sends its own options, such as `assistantId` and `streamMode`, beside
 * `assistant_id`. Fields of the contract's names come first.
 */
function renameOptions(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const named = Object.entries(value).filter(([name]) => !ofClient.has(name));
  return { ...Object.fromEntries(named.map(([name, field]) => [toSnakeCase(name), field])), ...onlySnakeCase(named) };
}

const onlySnakeCase = (named: readonly (readonly [string, unknown])[]): Record<string, unknown> =>
  Object.fromEntries(named.filter(([name]) => !/[A-Z]/.test(name)));

/** Runs of one request, each on a thread of its own. */
export const RunBatch = z.array(z.preprocess(renameOptions, RunCreate)).min(1).max(MAX_BATCH);
