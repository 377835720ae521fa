import { type HealthCheck, startHealthServer } from './index.js';

const metrics = { contentType: 'text/plain', text: async () => 'figures 1\n' };

describe('health server', () => {
  let stopping = false;
  const isStopping = (): boolean => stopping;
  afterEach(() => (stopping = false));
  const serve = async (checks: readonly HealthCheck[], work: (url: string) => Promise<void>): Promise<void> => {
    const server = await startHealthServer({ host: '127.0.0.1', port: 0, checks, metrics, isStopping });
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

  test('is not ready once it is stopping, without asking anybody, and healthy until its end', async () => {
    let asked = 0;
    const check = async () => (asked += 1);
    await serve([{ name: 'one', check }], async (url) => {
      stopping = true;
      for (const path of ['/ready', '/ready?for=traffic']) {
        const response = await fetch(url + path);
        expect([path, response.status]).toEqual([path, 503]);
        expect(await response.json()).toMatchObject({ missing: { stopping: 'this process is stopping' } });
      }
      expect((await fetch(`${url}/health`)).status).toBe(200);
      expect(asked).toBe(0);
    });
  });

  test('is ready for traffic while a dependency is missing', async () => {
    await serve([{ name: 'redis', check: () => Promise.reject(new Error('away')) }], async (url) => {
      expect((await fetch(`${url}/ready?for=traffic`)).status).toBe(200);
      expect((await fetch(`${url}/ready?for=runs`)).status).toBe(503);
    });
  });

  test('listens at the named host only', async () => {
    const server = await startHealthServer({ host: '127.0.0.2', port: 0, checks: [], metrics, isStopping });
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
