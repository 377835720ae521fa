import { readFileSync } from 'node:fs';
import { Client } from 'langgraph-sdk-1-15';
import type { Entry } from './entry.js';
import { otherCalls } from './others.js';
import { runFields } from './run-fields.js';
import { runCalls } from './runs.js';
import { threadCalls } from './threads.js';

/** What became of every call of the SDK's client, and of every field of a run. */
export const calls: readonly Entry[] = [...threadCalls, ...runCalls, ...otherCalls];
export const fields: readonly Entry[] = runFields;

/** The calls of the SDK's client: the methods of its parts, as `threads.create`. */
export function callsOfSdk(): string[] {
  const parts = Object.entries(new Client({ apiUrl: 'http://127.0.0.1:9' })).filter(
    ([, part]) => typeof part === 'object',
  );
  return parts.flatMap(([name, part]) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(part))
      .filter((method) => method !== 'constructor')
      .map((method) => `${name}.${method}`),
  );
}

const INTERFACES = ['RunsInvokePayload', 'RunsStreamPayload', 'RunsCreatePayload', 'RunsWaitPayload'];

/** The options of a run in the SDK's types. */
export function fieldsOfSdk(): string[] {
  const types = readFileSync(require.resolve('langgraph-sdk-1-15').replace(/dist\/.*$/, 'dist/types.d.ts'), 'utf8');
  const names = INTERFACES.flatMap((name) => {
    const body = new RegExp(`^interface ${name}\\b[^{]*{\\n(.*?)^}`, 'ms').exec(types)?.[1] ?? '';
    return Array.from(body.matchAll(/^ {2}(\w+)\??:/gm), ([, field = '']) => field);
  });
  return [...new Set(names)];
}

/** The tables of docs/clients.md. */
export const renderTables = (): string =>
  [
    ...table('call', calls, ({ name }) => `\`${name}\``),
    '',
    'The options of `runs.stream`, `runs.create` and `runs.wait`:',
    '',
    ...table('option', fields, ({ name }) => `\`${name}\``),
  ].join('\n');

const table = (head: string, entries: readonly Entry[], nameOf: (entry: Entry) => string): string[] => [
  `| ${head} | | |`,
  '|---|---|---|',
  ...entries.map((entry) => `| ${nameOf(entry)} | ${entry.verdict} | ${entry.note.replaceAll('|', '\\|')} |`),
];
