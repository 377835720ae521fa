import { omitUndefined } from '@caribou/contracts';
import { parseArgs } from 'node:util';
import { startProviderReplay } from './framework/server.js';
import { vendorNamed } from './vendors.js';

const { values } = parseArgs({
  options: {
    vendor: { type: 'string' },
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    'api-key': { type: 'string' },
    model: { type: 'string', multiple: true },
    'context-tokens': { type: 'string' },
    'cut-seed': { type: 'string' },
  },
});

async function main(): Promise<void> {
  const replay = await startProviderReplay({
    vendor: vendorNamed(values.vendor ?? ''),
    port: Number(values.port),
    host: values.host,
    ...omitUndefined({
      apiKey: values['api-key'],
      models: values.model,
      contextTokens: optionalNumber('context-tokens'),
      cutSeed: optionalNumber('cut-seed'),
    }),
  });
  process.stdout.write(`replay of ${replay.vendor} (scripted, not an AI) listening on ${replay.baseUrl}\n`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void replay.close());
}

function optionalNumber(name: 'context-tokens' | 'cut-seed'): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new TypeError(`--${name} must be a whole number, not "${text}"`);
  return value;
}

void main();
