import { connectBus } from '@caribou/bus';
import { busAccess, runEventsSubject, type ServiceName, serviceNames, streams } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import {
  createRedis,
  type RedisConnection,
  redisExecutionJournal,
  redisMemoryJobs,
  redisSandboxRegistry,
} from '@caribou/state';
import { startNats, startRedis, type TestServer, thread, waitFor } from '@caribou/testing';
import { connect, type NatsConnection } from 'nats';
import { natsChartValues, natsConfig } from './nats-config.js';
import { addressOf, ADMIN, HEALTH, newPasswords, type UserName } from './passwords.js';
import { redisConfig } from './redis-config.js';

const passwords = newPasswords();

describe('users of NATS', () => {
  let server: TestServer;
  const opened: NatsConnection[] = [];
  const urlOf = (user: UserName): string =>
    addressOf('nats', `127.0.0.1:${server.port}`, { user, password: passwords[user] });

  /** A client with the stolen password of a service, and the server's refusals. */
  const thief = async (user: UserName) => {
    const connection = await connect({
      servers: `127.0.0.1:${server.port}`,
      user,
      pass: passwords[user],
      inboxPrefix: user === ADMIN || user === HEALTH ? '_INBOX' : busAccess(user).inboxPrefix,
    });
    opened.push(connection);
    const refused: string[] = [];
    void (async () => {
      for await (const { permissionContext: context } of connection.status())
        if (context !== undefined) refused.push(`${context.operation} ${context.subject}`);
    })();
    return { connection, refused };
  };

  beforeAll(async () => {
    server = await startNats({ config: (where) => natsConfig(where, passwords) });
    const runner = connectBus({
      url: urlOf('agent-runner'),
      name: 'agent-runner',
      access: busAccess('agent-runner'),
      logger: silentLogger,
      streams: ['turns', 'subagents', 'memory', 'deadLetters'] as const,
    });
    await runner.waitUntilConnected(AbortSignal.timeout(10_000));
    await runner.checkStreams();
    await runner.close();
  });
  afterAll(async () => {
    await Promise.all(opened.map((connection) => connection.close()));
    await server.stop();
  });

  test('the Helm chart of NATS gets the users of the configuration', () => {
    const { config } = JSON.parse(natsChartValues(passwords)) as {
      config: { merge: { max_payload: number; authorization: { users: { user: string; password: string }[] } } };
    };
    const { users } = config.merge.authorization;
    expect(users.map(({ user }) => user)).toEqual([ADMIN, ...serviceNames]);
    const text = natsConfig({ listen: '127.0.0.1:4222', storeDir: '/data' }, passwords);
    for (const user of users) expect(text).toContain(JSON.stringify(user));
    expect(text).toContain(`max_payload: ${config.merge.max_payload}`);
  });

  test('a login without a password, or with that of another user, is refused', async () => {
    const servers = `127.0.0.1:${server.port}`;
    await expect(connect({ servers })).rejects.toThrow(/authorization/i);
    await expect(connect({ servers, user: 'gateway', pass: passwords['memory-worker'] })).rejects.toThrow(
      /authorization/i,
    );
  });

  test.each(['sandbox-manager', 'memory-worker'] as const)(
    'with the password of %s no run event can be forged, no turn or cancel published, and no message of others received',
    async (user) => {
      const { connection, refused } = await thief(user);
      const watcher = (await thief(ADMIN)).connection;
      const heard: string[] = [];
      watcher.subscribe('>', { callback: (_error, { subject }) => void heard.push(subject) });
      await watcher.flush();
      const attempts = [
        ...[runEventsSubject('r1'), 'turns.alice.t1', 'subagents.alice.t1', 'memory.alice.t1', 'cancel.r1'],
        ...['config.mcp', 'sandbox.m1.exec', 'sandbox.acquire', 'dead.run.r1', '_INBOX.agent-runner.x'],
        ...['$JS.API.STREAM.DELETE.TURNS', '$JS.API.STREAM.CREATE.SPY', '$JS.API.STREAM.UPDATE.MEMORY'],
        ...['$JS.API.CONSUMER.DURABLE.CREATE.MEMORY.spy', '$JS.API.CONSUMER.CREATE.MEMORY.spy'],
        ...['$JS.API.CONSUMER.MSG.NEXT.TURNS.runner', '$JS.API.STREAM.NAMES', '$SYS.REQ.SERVER.PING'],
        ...(user === 'memory-worker' ? ['output.alice.t1.r1.c1'] : ['$JS.API.STREAM.INFO.TURNS']),
      ];
      for (const subject of attempts) connection.publish(subject, '{}');
      const ears = ['>', 'run.*.event', 'output.>', 'cancel.*', 'turns.>', '_INBOX.>', '_INBOX.agent-runner.>'];
      for (const subject of [...ears, 'sandbox.>', 'sandbox.m1.exec', '$SYS.>'])
        connection.subscribe(subject, { callback: () => undefined });
      await waitFor(() => refused.length >= attempts.length + ears.length + 3, {
        what: `refusals, not ${refused.join(', ')}`,
      });
      await watcher.flush();
      expect(refused.filter((what) => what.startsWith('publish')).sort()).toEqual(
        attempts.map((subject) => `publish ${subject}`).sort(),
      );
      expect(heard.filter((subject) => attempts.includes(subject))).toEqual([]);
    },
  );

  test('a message of a stream that is requested under the subject of a run’s events is not a batch of events', async () => {
    const { connection } = await thief('memory-worker');
    const gateway = connectBus({
      url: urlOf('gateway'),
      name: 'gateway',
      access: busAccess('gateway'),
      logger: silentLogger,
      streams: [],
    });
    const events: unknown[] = [];
    let gaps = 0;
    await gateway.waitUntilConnected(AbortSignal.timeout(10_000));
    await gateway.subscribeEvents('r2', { onEvents: (batch) => void events.push(...batch), onGap: () => (gaps += 1) });
    const reply = runEventsSubject('r2');
    connection.publish(`$JS.API.STREAM.INFO.${streams.memory.name}`, '', { reply });
    await waitFor(() => gaps > 0, { what: 'the reply of the server' });
    expect(events).toEqual([]);
    await gateway.close();
  });

  test('a sandbox-manager answers a request once, and only the caller receives the reply', async () => {
    const manager = (await thief('sandbox-manager')).connection;
    const spy = await thief('memory-worker');
    spy.connection.subscribe('_INBOX.agent-runner.>', { callback: () => undefined });
    manager.subscribe('sandbox.m1.release', {
      queue: 'sandbox-manager',
      callback: (_error, message) => void message.respond(JSON.stringify({ response: { released: true } })),
    });
    await manager.flush();
    const runner = (await thief('agent-runner')).connection;
    const reply = await runner.request('sandbox.m1.release', '{}', { timeout: 5_000 });
    expect(reply.string()).toContain('released');
    await waitFor(() => spy.refused.length > 0, { what: 'the refusal' });
  });

  test.each(serviceNames)('%s connects and checks its streams without a refusal', async (service) => {
    const lines: string[] = [];
    const logger = { ...silentLogger, error: (_fields: unknown, message: string) => void lines.push(message) };
    const roles = { gateway: ['turns'], 'agent-runner': ['turns', 'subagents', 'memory', 'deadLetters'] } as const;
    const own = { 'subagent-pool': ['subagents', 'deadLetters'], 'memory-worker': ['memory', 'deadLetters'] } as const;
    const wanted = { ...roles, ...own, 'sandbox-manager': [] }[service];
    const bus = connectBus({ url: urlOf(service), name: service, access: busAccess(service), logger, streams: wanted });
    await bus.waitUntilConnected(AbortSignal.timeout(10_000));
    await bus.checkStreams();
    await bus.ping(2_000);
    await bus.close();
    expect(lines).toEqual([]);
  });
});

describe('users of Redis', () => {
  let server: TestServer;
  const connections = new Map<UserName, RedisConnection>();
  const as = (user: UserName): RedisConnection => {
    const known = connections.get(user);
    if (known !== undefined) return known;
    const url = addressOf('redis', `127.0.0.1:${server.port}`, { user, password: passwords[user] });
    const made = createRedis({ url });
    connections.set(user, made);
    return made;
  };
  const expectRefused = async (user: ServiceName, ...command: readonly [string, ...string[]]): Promise<void> => {
    const [name, ...args] = command;
    const outcome = await as(user)
      .use((client) => client.call(name, ...args))
      .then(
        (reply) => `${command.join(' ')}: ${JSON.stringify(reply)}`,
        (error: unknown) => String(error),
      );
    // DEBUG is disabled by a default of the server; a refusal inside a script has another text.
    expect(outcome).toMatch(/NOPERM|DEBUG command not allowed|executing the script can't access/);
  };

  beforeAll(async () => {
    server = await startRedis({
      config: (where) => redisConfig({ ...where, bind: '127.0.0.1', fsync: 'always' }, passwords),
      login: { user: HEALTH, password: passwords[HEALTH] },
    });
  });
  afterAll(async () => {
    await Promise.all([...connections.values()].map((connection) => connection.close()));
    await server.stop();
  });

  test.each(serviceNames)('%s may not run commands on the server, on all keys or on foreign keys', async (service) => {
    await expectRefused(service, 'FLUSHALL');
    await expectRefused(service, 'FLUSHDB');
    await expectRefused(service, 'CONFIG', 'SET', 'appendonly', 'no');
    await expectRefused(service, 'CONFIG', 'GET', '*');
    await expectRefused(service, 'KEYS', '*');
    await expectRefused(service, 'SCAN', '0');
    await expectRefused(service, 'DEBUG', 'SLEEP', '0');
    await expectRefused(service, 'MONITOR');
    await expectRefused(service, 'ACL', 'LIST');
    await expectRefused(service, 'SCRIPT', 'FLUSH');
    await expectRefused(service, 'FUNCTION', 'FLUSH');
    await expectRefused(service, 'SHUTDOWN');
    await expectRefused(service, 'SET', 'foreign', '1');
    await expect(as(service).ping()).resolves.toBeUndefined();
  });

  test('with the passwords of sandbox-manager and memory-worker no event, run, lease, thread or account can be written', async () => {
    for (const service of ['sandbox-manager', 'memory-worker'] as const) {
      await expectRefused(service, 'XADD', 'caribou:events:alice:r1', '*', 'event', '{}');
      await expectRefused(service, 'HSET', 'caribou:run:alice:r1', 'status', 'success');
      await expectRefused(service, 'SET', 'caribou:thread:alice:t1:lease', 'me:9');
      await expectRefused(service, 'HSET', 'caribou:thread:alice:t1', 'head', 'x');
      await expectRefused(service, 'HSET', 'caribou:thread:alice:t1:log', '1', '{}');
      await expectRefused(service, 'HGETALL', 'caribou:account:u1');
      await expectRefused(service, 'EVAL', "return redis.call('DEL', 'caribou:thread:alice:t1:lease')", '0');
    }
    await expectRefused('sandbox-manager', 'HGETALL', 'caribou:thread:alice:t1:log');
    await expectRefused('sandbox-manager', 'HGETALL', 'caribou:memory:alice:lead_agent');
    await expectRefused('sandbox-manager', 'XRANGE', 'caribou:events:alice:r1', '-', '+');
    await expectRefused('memory-worker', 'XRANGE', 'caribou:events:alice:r1', '-', '+');
    await expectRefused('subagent-pool', 'HGETALL', 'caribou:thread:alice:t1:log');
    await expectRefused('agent-runner', 'HGETALL', 'caribou:account:u1');
    await expectRefused('gateway', 'HGETALL', 'caribou:token:x');
  });

  test('scripts of services with read access to a key run, and are fenced by it', async () => {
    const key = thread();
    const registry = redisSandboxRegistry(as('sandbox-manager'));
    await registry.renewManager('m1', 10_000);
    await as('agent-runner').use((client) => client.set(`caribou:thread:${key.userId}:${key.threadId}:lease`, 'o:7'));
    const bound = { managerId: 'm1', sandboxId: 's1', driver: 'bwrap' } as const;
    await expect(registry.bind(key, { ...bound, epoch: 6 })).rejects.toThrow('epoch');
    expect(await registry.bind(key, { ...bound, epoch: 7 })).toEqual(bound);
    const journal = redisExecutionJournal(as('sandbox-manager'));
    const entry = { key: 'r1:c1', argsHash: 'h', kind: 'exec', epoch: 7, managerId: 'm1', sandboxId: 's1' } as const;
    expect(await journal.start(key, entry)).toEqual({ state: 'new' });
    await journal.finish(key, 'r1:c1', { managerId: 'm1', result: { ok: true } });
    expect(await journal.start(key, entry)).toEqual({ state: 'done', result: { ok: true } });
    const jobs = redisMemoryJobs(as('memory-worker'), { debounceMs: 1, leaseMs: 10_000 });
    expect(await jobs.ready(10)).toMatchObject({ jobs: [] });
    expect(await jobs.take({ ...key, agent: 'lead_agent' }, 'w1')).toBeNull();
    expect(await jobs.messages(key, { after: 0, to: 3 })).toEqual({ messages: [], last: 3 });
  });

  test.each(['agent-runner', 'subagent-pool'] as const)(
    '%s, without a reply of a sandbox, reads the journal and withdraws an execution that was not started',
    async (service) => {
      const key = thread();
      await as('agent-runner').use((client) => client.set(`caribou:thread:${key.userId}:${key.threadId}:lease`, 'o:7'));
      const journal = redisExecutionJournal(as(service));
      const entry = { key: 'r1:c1', argsHash: 'h', kind: 'exec', epoch: 7 } as const;
      expect(await journal.find(key, entry)).toEqual({ state: 'new' });
      expect(await journal.withdraw(key, entry, { gone: true })).toEqual({ state: 'withdrawn' });
      expect(await journal.find(key, entry)).toEqual({ state: 'done', result: { gone: true } });
    },
  );

  test('data written by scripts survives a restart: Redis reads its file with the rights of the disabled default user', async () => {
    const key = thread();
    const { renewManager } = redisSandboxRegistry(as('sandbox-manager'));
    await renewManager(key.threadId, 600_000);
    await server.restart();
    expect(await redisSandboxRegistry(as('agent-runner')).isManagerAlive(key.threadId)).toBe(true);
    const stranger = createRedis({ url: `redis://127.0.0.1:${server.port}`, commandTimeoutMs: 500 });
    await expect(stranger.ping()).rejects.toThrow();
    await stranger.close();
  });
});
