import { silentLogger } from '@caribou/core';
import { startNats, type TestServer, waitFor } from '@caribou/testing';
import type { Bus } from '../connection/bus.js';
import { connectBus } from '../connect-bus.js';

let server: TestServer;
let teller: Bus;
let hearer: Bus;

const connected = async (): Promise<Bus> => {
  const bus = connectBus({ url: server.url, name: 'test', logger: silentLogger, streams: [] });
  await bus.waitUntilConnected();
  return bus;
};

beforeAll(async () => {
  server = await startNats();
  [teller, hearer] = await Promise.all([connected(), connected()]);
});
afterAll(async () => {
  await Promise.all([teller.close(), hearer.close()]);
  await server.stop();
});

describe('changes of documents', () => {
  test('every process hears of a change of its document, until it stops listening', async () => {
    const heard: string[] = [];
    const stop = hearer.subscribeConfigChanges('mcp', () => heard.push('mcp'));
    hearer.subscribeConfigChanges('skills', () => heard.push('skills'));
    await hearer.ping(2_000);
    heard.length = 0;

    teller.publishConfigChange('mcp');
    await waitFor(() => heard.length > 0, { what: 'the change' });
    stop();
    teller.publishConfigChange('mcp');
    teller.publishConfigChange('skills');
    await waitFor(() => heard.includes('skills'), { what: 'the other change' });

    expect(heard).toEqual(['mcp', 'skills']);
  });

  test('a listener is told when the connection stands, as a change may have been missed', async () => {
    const late = connectBus({ url: server.url, name: 'late', logger: silentLogger, streams: [] });
    let told = 0;
    late.subscribeConfigChanges('mcp', () => (told += 1));

    await waitFor(() => told === 1, { what: 'the listener to be told' });
    await late.close();
  });
});
