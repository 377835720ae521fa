import { connectBus } from '@caribou/bus';
import { streams, wakeSubject } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { waitFor } from '@caribou/testing';
import { connect } from 'nats';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

interface Ready {
  readonly missing: Readonly<Record<string, string>>;
  readonly degraded: Readonly<Record<string, string>>;
}

describe('GET /ready', () => {
  const fixture = useGateways({ appendonly: false });
  let gateway: OpenGateway;

  const ready = async (): Promise<Ready> => (await gateway.app.inject('/ready')).json<Ready>();
  const degraded = async (): Promise<readonly string[]> => Object.keys((await ready()).degraded).sort();

  /** The streams, as a runner makes them. */
  async function makeStreams(): Promise<void> {
    const bus = connectBus({ url: fixture.nats.url, name: 'agent-runner', logger: silentLogger, streams: ['turns'] });
    await bus.waitUntilConnected();
    await bus.checkStreams();
    await bus.close(200);
  }

  beforeAll(async () => {
    await makeStreams();
    gateway = await fixture.open({ env: { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' } });
  }, 30_000);

  test('names a Redis without AOF and maxmemory and a NATS that takes no wakes as degraded, and neither as missing', async () => {
    expect(await degraded()).toEqual(['durability']);
    expect((await ready()).degraded['durability']).toMatch(/without AOF.*no maxmemory/);

    const raw = await connect({ servers: fixture.nats.url });
    const manager = await raw.jetstreamManager();
    const { name } = streams.turns;
    await manager.streams.update(name, { ...(await manager.streams.info(name)).config, max_msgs: 1 });
    await raw.jetstream().publish(wakeSubject('turns', 'default', 'other'));
    const payload = { assistant_id: 'lead_agent', input: { messages: [{ role: 'user', content: 'hi' }] } };
    const started = await gateway.app.inject({ method: 'POST', url: '/api/runs', payload });

    expect(started.statusCode).toBe(200);
    await waitFor(async () => (await degraded()).includes('dispatch'), { what: 'the refused wake to be reported' });
    expect(Object.keys((await ready()).missing).sort()).toEqual(['agent-runner', 'sandbox']);

    await manager.streams.purge(name);
    await waitFor(async () => !(await degraded()).includes('dispatch'), { what: 'wakes to be taken again' });
    await raw.close();
  }, 30_000);
});
