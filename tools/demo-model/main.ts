import { omitUndefined } from '@caribou/contracts';
import { parseArgs } from 'node:util';
import { startDemoModel } from './server.js';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    'call-id': { type: 'string' },
    'api-key': { type: 'string' },
  },
});

async function main(): Promise<void> {
  const model = await startDemoModel({
    port: Number(values.port),
    host: values.host,
    ...omitUndefined({ constantCallId: values['call-id'], apiKey: values['api-key'] }),
  });
  process.stdout.write(`demo model (scripted, not an AI) listening on ${model.baseUrl}\n`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void model.close());
}

void main();
