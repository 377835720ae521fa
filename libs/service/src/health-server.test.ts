import { type HealthCheck, startHealthServer } from './index.js';

const metrics = { contentType: 'text/plain', text: async () => 'figures 1\n' };

describe('health server', () => {
  const serve = async (checks: readonly HealthCheck[], work: (url: string) => Promise<void>): Promise<void> => {
    const server = await startHealthServer({ host: '127.0.0.1', port: 0, checks, metrics });
    try {
      await work(`http://127.0.0.1:${server.port}`);
    } finally {
      await server.close();
    }
  };

  test('is ready when every check passes, and healthy in any case', async () => {
    await serve([{ name: 'one', check: async () => undefined }], async (url) => {
      expect((await fetch(`${url}/ready`)).status).toBe(200);
      expect((await fetch(`${url}/health`)).status).toBe(200);
      expect(await (await fetch(`${url}/metrics`)).text()).toBe('figures 1\n');
      expect((await fetch(`${url}/else`)).status).toBe(404);
    });
  });

  test('listens at the named host only', async () => {
    const server = await startHealthServer({ host: '127.0.0.2', port: 0, checks: [], metrics });
    try {
      expect((await fetch(`http://127.0.0.2:${server.port}/health`)).status).toBe(200);
      await expect(fetch(`http://127.0.0.1:${server.port}/health`)).rejects.toThrow('fetch failed');
    } finally {
      await server.close();
    }
  });

  test('names what is missing, with its reason, and nothing else', async () => {
    const checks = [
      { name: 'there', check: async () => undefined },
      { name: 'redis', check: () => Promise.reject(new Error('connection refused')) },
    ];
    await serve(checks, async (url) => {
      const response = await fetch(`${url}/ready`);
      expect(response.status).toBe(503);
      expect(await response.json()).toEqual({
        status: 'not ready',
        missing: { redis: 'connection refused' },
        degraded: {},
      });
      expect((await fetch(`${url}/health`)).status).toBe(200);
    });
  });

  test('an optional check that fails is reported and leaves the service ready', async () => {
    const checks = [{ name: 'durability', optional: true, check: () => Promise.reject(new Error('no AOF')) }];
    await serve(checks, async (url) => {
      const response = await fetch(`${url}/ready`);
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ status: 'ready', missing: {}, degraded: { durability: 'no AOF' } });
    });
  });

  test('a check that never answers counts as missing', async () => {
    await serve([{ name: 'stuck', check: () => new Promise(() => undefined) }], async (url) => {
      expect(await (await fetch(`${url}/ready`)).json()).toMatchObject({
        missing: { stuck: expect.stringMatching(/no answer/) },
      });
    });
  });
});
