import { connectBus } from '@caribou/bus';
import { FleetSandboxes, managerSubject, SandboxEnd, type SandboxesReply } from '@caribou/contracts';
import { silentLogger, type ThreadKey } from '@caribou/core';
import { redisSandboxRegistry, type RedisConnection } from '@caribou/state';
import { connect as connectNats, type NatsConnection } from 'nats';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const KEYS = { CARIBOU_API_KEYS: 'alice-key-1:alice,root-key-12:root:admin' };
const AT = '2026-03-14T10:00:00.000Z';

describe('sandboxes of all managers', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;
  let redis: RedisConnection;
  let nats: NatsConnection;
  /** What managers were asked to end. */
  const asked: unknown[] = [];
  let endReply: object = { outcome: 'ended', commands: 2 };

  /** A manager with a lease that lists sandboxes of these threads, and ends what it is asked for. */
  const openManager = async (managerId: string, threads: readonly string[]) => {
    const bus = connectBus({ url: fixture.nats.url, name: managerId, logger: silentLogger, streams: [] });
    fixture.closeAtEnd(() => bus.close());
    await bus.waitUntilConnected(AbortSignal.timeout(10_000));
    bus.answerAll(FleetSandboxes, ({ user_id, after, limit }) => {
      const from = after === undefined ? '' : `${after.user_id}/${after.thread_id}`;
      const own = threads.filter((name) => user_id === undefined || name.startsWith(`${user_id}/`));
      const page = own.filter((name) => name > from).slice(0, limit);
      return Promise.resolve({
        ...{ manager_id: managerId, host: 'h1', total: own.length },
        sandboxes: page.map((name) => ({ ...sandboxOf(name), driver: 'bwrap' as const })),
      });
    });
    await bus.ping(5_000);
    await redisSandboxRegistry(redis).renewManager(managerId, 60_000);
    nats.subscribe(managerSubject(managerId, SandboxEnd), {
      callback: (_error, message) => {
        asked.push(message.json<{ data: unknown }>().data);
        message.respond(JSON.stringify({ response: endReply, isDisposed: true }));
      },
    });
    await nats.flush();
  };
  const sandboxOf = (name: string) => {
    const [user_id = '', thread_id = ''] = name.split('/');
    const times = { since: AT, last_used_at: AT, in_use: false, commands: [], disk_bytes: 1_024 };
    return { user_id, thread_id, sandbox_id: `s-${thread_id}`, ...times };
  };
  const bind = async (thread: ThreadKey, managerId: string) => {
    const { sandbox } = redis.keys.thread(thread);
    const binding = { manager: managerId, sandbox: 's-1', driver: 'bwrap' };
    await redis.use((client) => client.hset(sandbox, binding));
  };
  const request = async (method: 'GET' | 'DELETE', path: string, key = 'root-key-12') => {
    const url = `/api/admin/sandboxes${path}`;
    const reply = await gateway.app.inject({ method, url, headers: { 'x-api-key': key } });
    return { status: reply.statusCode, body: reply.json<SandboxesReply & { detail?: unknown }>() };
  };
  const namesOf = ({ sandboxes }: SandboxesReply) =>
    sandboxes.map(({ user_id, thread_id, manager_id }) => `${user_id}/${thread_id} ${manager_id}`);

  beforeAll(async () => {
    gateway = await fixture.open({ env: KEYS });
    redis = fixture.connectRedis();
    nats = await connectNats({ servers: fixture.nats.url });
    fixture.closeAtEnd(() => nats.close());
    await openManager('m1', ['alice/t1', 'alice/t3', 'carol/t1']);
    await openManager('m2', ['alice/t2', 'bob/t1']);
    await redisSandboxRegistry(redis).renewManager('m3', 60_000);
  }, 60_000);

  beforeEach(() => {
    asked.length = 0;
    endReply = { outcome: 'ended', commands: 2 };
  });

  test('are listed in one order, in pages, with the managers that do not answer', async () => {
    const { status, body: first } = await request('GET', '?limit=3');
    expect(status).toBe(200);
    expect(namesOf(first)).toEqual(['alice/t1 m1', 'alice/t2 m2', 'alice/t3 m1']);
    expect(first).toMatchObject({ total: 5, next: 'alice/t3', silent_managers: ['m3'], nats: { reachable: true } });
    expect(first.sandboxes[0]).toMatchObject({ host: 'h1', since: AT, disk_bytes: 1_024, driver: 'bwrap' });

    const { body: second } = await request('GET', '?limit=3&cursor=alice/t3');
    expect(namesOf(second)).toEqual(['bob/t1 m2', 'carol/t1 m1']);
    expect(second.next).toBeNull();
  });

  test('of one user', async () => {
    const { body } = await request('GET', '?user_id=alice');
    expect(namesOf(body)).toEqual(['alice/t1 m1', 'alice/t2 m2', 'alice/t3 m1']);
    expect(body.total).toBe(3);
  });

  test.each([
    ['?limit=0', 'limit: '],
    ['?limit=201', 'limit: '],
    ['?user_id=../x', 'user_id: '],
    ['?cursor=alice', 'cursor: must be `next` of an earlier answer'],
    ['?cursor=_a/t', 'cursor: '],
    ['?order=age', 'order'],
  ])('%s is refused', async (query, detail) => {
    const { status, body } = await request('GET', query);
    expect(status).toBe(422);
    expect(JSON.stringify(body)).toContain(detail);
  });

  test('one is ended by its manager, who is told which administrator did it', async () => {
    await bind({ userId: 'alice', threadId: 't1' }, 'm1');

    expect(await request('DELETE', `/alice/t1?since=${AT}`)).toEqual({ status: 200, body: { commands: 2 } });
    expect(asked).toEqual([
      { user_id: 'alice', thread_id: 't1', since: AT, decided_by: 'root', decided_from: '127.0.0.1' },
    ]);
  });

  test('one that is gone is a 404, another one a 409', async () => {
    await bind({ userId: 'alice', threadId: 't1' }, 'm1');
    endReply = { outcome: 'not_held', commands: 0 };
    expect((await request('DELETE', '/alice/t1')).status).toBe(404);
    endReply = { outcome: 'another', commands: 0 };
    expect((await request('DELETE', '/alice/t1')).status).toBe(409);

    expect((await request('DELETE', '/alice/unknown')).status).toBe(404);
    await bind({ userId: 'alice', threadId: 't9' }, 'gone');
    expect((await request('DELETE', '/alice/t9')).status).toBe(404);
    expect(asked).toHaveLength(2);
  });

  test('a manager that does not answer is a 503, and a wrong id or time a 422', async () => {
    await bind({ userId: 'alice', threadId: 't8' }, 'm3');
    expect((await request('DELETE', '/alice/t8')).status).toBe(503);
    expect((await request('DELETE', '/alice/t1?since=yesterday')).status).toBe(422);
    expect((await request('DELETE', '/al.ice/t1')).status).toBe(422);
    expect(asked).toEqual([]);
  });

  test('are for administrators', async () => {
    expect((await request('GET', '', 'alice-key-1')).status).toBe(403);
    expect((await request('DELETE', '/alice/t1', 'alice-key-1')).status).toBe(403);
    expect(asked).toEqual([]);
  });
});
