import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bus, connectBus, createRemoteSandbox, natsTarget } from '@caribou/bus';
import { loadConfig } from '@caribou/config';
import type { OutputPiece } from '@caribou/contracts';
import { RunCancelled, type SandboxPort, silentLogger } from '@caribou/core';
import { RpcErrorFilter, rpcServerOptions } from '@caribou/nest';
import { erasedFiles } from '@caribou/files';
import { createRedis, type RedisConnection, redisExecutionJournal, redisSandboxRegistry } from '@caribou/state';
import { processesWith, startNats, startProxy, startRedis, type TestServer, waitFor } from '@caribou/testing';
import type { INestMicroservice } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule, connectParts, type ManagerParts } from '../app.module.js';

const scope = { userId: 'default', threadId: 'thread-1', epoch: 1 };
const base64 = (bytes: readonly number[]): string => Buffer.from(bytes).toString('base64');
const limits = { timeout_ms: 20_000, max_output_bytes: 8192 };
const going = new AbortController().signal;

interface Manager {
  readonly parts: ManagerParts;
  readonly app: INestMicroservice;
}

describe('sandbox-manager over NATS, Redis and bubblewrap', () => {
  let nats: TestServer;
  let redisServer: TestServer;
  let redis: RedisConnection;
  let bus: Bus;
  let home: string;
  let remote: SandboxPort;
  const managers: Manager[] = [];
  let keys = 0;
  const newKey = (): string => `run:call_${(keys += 1)}`;

  async function startManager(redisUrl = redisServer.url, clocks = {}): Promise<Manager> {
    const env = { NATS_URL: nats.url, REDIS_URL: redisUrl, CARIBOU_HOME: home };
    const config = loadConfig(env, home);
    const own = { ...config.sandbox.limits, workspaceBytes: 8 * 1024 * 1024 };
    const sandbox = { ...config.sandbox, driver: 'bwrap', limits: own } as const;
    const parts = connectParts({ ...config, sandbox, clocks: { ...config.clocks, ...clocks } }, silentLogger);
    const options = { target: natsTarget(nats.url), queue: 'sandbox-manager', logger: silentLogger };
    const app = await NestFactory.createMicroservice(AppModule.on(parts), {
      ...rpcServerOptions({ ...options, subjectParams: { manager_id: parts.managerId } }),
      logger: false,
    });
    app.useGlobalFilters(new RpcErrorFilter(silentLogger));
    parts.lease.start();
    await app.listen();
    await waitFor(() => parts.lease.isHeld(), { what: 'the lease' });
    const manager = { parts, app };
    managers.push(manager);
    return manager;
  }

  /** As a crash looks to the others: no more replies, no lease; what ran goes on until someone ends it. */
  async function crash({ app, parts }: Manager): Promise<void> {
    await app.close();
    await parts.lease.stop();
  }

  async function stop(manager: Manager): Promise<void> {
    const { app, parts } = manager;
    managers.splice(managers.indexOf(manager), 1);
    await parts.executor.drain(0);
    await app.close();
    await parts.lease.stop();
    await parts.redis.close();
    await parts.outputs.close();
  }

  const setEpoch = (epoch: number): Promise<unknown> =>
    redis.use((client) => client.set(redis.keys.thread(scope).lease, `owner:${epoch}`, 'PX', 600_000));

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'caribou-manager-'));
    chmodSync(home, 0o755);
    [nats, redisServer] = await Promise.all([startNats(), startRedis()]);
    redis = createRedis({ url: redisServer.url, logger: silentLogger });
    bus = connectBus({ url: nats.url, name: 'test', logger: silentLogger, streams: [] });
    await bus.whenConnected();
    await setEpoch(1);
    const registry = redisSandboxRegistry(redis);
    const journal = redisExecutionJournal(redis);
    remote = createRemoteSandbox({
      bus,
      registry,
      journal,
      logger: silentLogger,
      lookMs: 100,
    });
    await startManager();
  }, 60_000);

  afterAll(async () => {
    for (const manager of [...managers]) await stop(manager);
    await bus.close();
    await redis.close();
    await Promise.all([nats.stop(), redisServer.stop()]);
    rmSync(home, { recursive: true, force: true });
  }, 60_000);

  test('writes a file, runs it and reads what it made', async () => {
    const path = '/mnt/user-data/workspace/hello.sh';
    await remote.write(scope, { key: newKey(), path, content: 'echo "made in $PWD" > made\n', append: false }, going);
    const key = newKey();
    await remote.write(scope, { key, path, content: 'cat made; id -u\n', append: true }, going);
    await remote.write(scope, { key, path, content: 'cat made; id -u\n', append: true }, going);

    const result = await remote.exec(scope, { key: newKey(), command: 'sh hello.sh', ...limits }, going);
    const made = await remote.read(scope, { path: '/mnt/user-data/workspace/made', max_bytes: 100 }, going);

    expect(result).toMatchObject({ outcome: 'done', exit_code: 0 });
    expect(result.outcome === 'done' && result.stdout).toMatch(/^made in \/mnt\/user-data\/workspace\n\d+\n$/);
    expect(made).toMatchObject({ outcome: 'ok', text: 'made in /mnt/user-data/workspace\n' });
  });

  test('a new thread of a deleted one has a sandbox of its own with nothing in it, under the same manager', async () => {
    const again = { userId: 'default', threadId: 'again' };
    const { lease, owner, sandbox } = redis.keys.thread(again);
    const own = (epoch: number) => redis.use((client) => client.set(lease, `owner:${epoch}`, 'PX', 600_000));
    const ran = async (epoch: number, command: string) =>
      await remote.exec({ ...again, epoch }, { key: newKey(), command, ...limits }, going);
    await own(1);
    expect(await ran(1, 'echo secret > ../outputs/old; echo x > old')).toMatchObject({ outcome: 'done', exit_code: 0 });

    await redis.use((client) => client.del(lease, owner, sandbox));
    const files = erasedFiles(home);
    const aside = await files.moveThread(again, '1');
    await own(2);
    const listing = await ran(2, 'ls /mnt/user-data/outputs .; echo new > mine');

    expect(listing).toMatchObject({ outcome: 'done', exit_code: 0 });
    expect(listing.outcome === 'done' && listing.stdout).not.toContain('old');
    expect(await files.empty(aside, going)).toBe(true);
    expect(await ran(2, 'cat mine')).toMatchObject({ outcome: 'done', stdout: 'new\n' });
  });

  test('a file is changed as it was read, once per key, and an unread one is not', async () => {
    const at = { path: '/mnt/user-data/workspace/known.txt', append: false };
    const key = newKey();
    expect(await remote.write(scope, { ...at, key: newKey(), content: 'one' }, going)).toMatchObject({ outcome: 'ok' });
    const seen = await remote.read(scope, { path: at.path, max_bytes: 100 }, going);
    const expected = { sha256: seen.outcome === 'ok' ? (seen.sha256 ?? null) : null };

    const unread = { ...at, key: newKey(), content: 'x', expected: { sha256: null } };
    expect(await remote.write(scope, unread, going)).toEqual({ outcome: 'refused', reason: 'changed' });
    const edit = { key, path: at.path, old_text: 'one', new_text: 'two', replace_all: false, expected };
    const edited = await remote.edit(scope, edit, going);
    expect(edited).toMatchObject({ outcome: 'ok' });
    expect(await remote.edit(scope, edit, going)).toEqual(edited);
    expect(await remote.edit(scope, { ...edit, key: newKey() }, going)).toMatchObject({ reason: 'changed' });
  });

  test('a repeated key answers the first result, and other arguments are refused', async () => {
    const key = newKey();
    const count = 'echo x >> count; wc -l < count';
    const first = await remote.exec(scope, { key, command: count, ...limits }, going);

    expect(await remote.exec(scope, { key, command: count, ...limits }, going)).toEqual(first);
    await expect(remote.exec(scope, { key, command: 'true', ...limits }, going)).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  test('audits each operation, with who asked, what for and what came of it', async () => {
    const key = newKey();
    await remote.exec(scope, { key, command: 'echo hello; exit 3', ...limits }, going);
    await remote.read(scope, { path: '/etc/passwd', max_bytes: 100 }, going);
    const lines = async (): Promise<Record<string, unknown>[]> =>
      (await redis.use((client) => client.xrange(redis.keys.audit, '-', '+'))).map(
        ([, [, line]]) => JSON.parse(line ?? '') as Record<string, unknown>,
      );
    await waitFor(async () => (await lines()).some(({ what }) => what === '/etc/passwd'), { what: 'the last line' });

    const all = await lines();
    const who = { user_id: 'default', thread_id: 'thread-1', manager_id: managers[0]?.parts.managerId };
    expect(all.find(({ what }) => what === 'echo hello; exit 3')).toMatchObject({
      ...who,
      operation: 'exec',
      run_id: 'run',
      tool_call_id: key.slice('run:'.length),
      verdict: 'done',
      exit_code: 3,
      bytes: 6,
      driver: 'bwrap',
      duration_ms: expect.any(Number),
    });
    expect(all.at(-1)).toMatchObject({ ...who, operation: 'read', what: '/etc/passwd', verdict: 'refused' });
    expect(all.map(({ operation }) => operation)).toContain('acquire');
  });

  test('audits what the rules said of a command, also of one that was blocked and never came here', async () => {
    const warned = { verdict: 'warn' as const, rules: ['chmod-777'] };
    const [ran, refused] = [newKey(), newKey()];
    await remote.exec(scope, { key: ran, command: 'echo warned', ...limits, audit: warned }, going);
    await remote.blocked(scope, { key: refused, command: `rm -rf / #${'x'.repeat(5000)}`, rules: ['rm-root'] }, going);
    const lines = async (): Promise<Record<string, unknown>[]> =>
      (await redis.use((client) => client.xrange(redis.keys.audit, '-', '+')))
        .map(([, [, line]]) => JSON.parse(line ?? '') as Record<string, unknown>)
        .filter(({ command_verdict }) => command_verdict !== undefined);
    await waitFor(async () => (await lines()).length >= 2, { what: 'the lines' });

    expect(await lines()).toEqual([
      expect.objectContaining({ operation: 'exec', verdict: 'done', command_verdict: 'warn', rules: ['chmod-777'] }),
      expect.objectContaining({
        operation: 'exec',
        verdict: 'blocked',
        command_verdict: 'block',
        rules: ['rm-root'],
        user_id: 'default',
        thread_id: 'thread-1',
        run_id: 'run',
        tool_call_id: refused.slice('run:'.length),
        what: expect.stringMatching(/^rm -rf \/ #x{100}/),
      }),
    ]);
  });

  test('tells what a command writes while it runs, once it has written for a second', async () => {
    await Promise.all(managers.map(({ parts }) => parts.outputs.whenConnected()));
    let told = '';
    const command =
      'printf "\\342\\202"; echo e >&2; sleep 1.2; printf "\\254 "; until [ -e go ]; do sleep 0.05; done; rm go';
    const onOutput = (piece: OutputPiece): void => {
      told += piece.stdout + piece.stderr;
      if (told.includes('€')) void remote.write(scope, { key: newKey(), ...go }, going);
    };
    const go = { path: '/mnt/user-data/workspace/go', content: '', append: false };
    const slow = await remote.exec(scope, { key: newKey(), command, ...limits, onOutput }, going);

    expect(slow).toMatchObject({ outcome: 'done', exit_code: 0, stdout: '€ ', stderr: 'e\n' });
    expect(told).toContain('e\n');
  });

  test('reads any part of any regular file as bytes, and no link or directory', async () => {
    const command =
      'printf "\\000\\377\\200x" > b; ln -s b link; ln b hard; mkdir -p d; mkfifo f; truncate -s 64M huge; printf GIF8 > one.gif';
    await remote.exec(scope, { key: newKey(), command, ...limits }, going);
    const read = (name: string, offset = 0, max_bytes = 100) =>
      remote.readBytes(scope, { path: `/mnt/user-data/workspace/${name}`, offset, max_bytes }, going);
    await remote.exec(scope, { key: newKey(), command: 'rm hard', ...limits }, going);

    expect(await read('b')).toEqual({ outcome: 'ok', base64: base64([0, 255, 128, 120]), bytes: 4, total_bytes: 4 });
    expect(await read('b', 1, 2)).toMatchObject({ base64: base64([255, 128]), total_bytes: 4 });
    expect(await read('b', 9)).toMatchObject({ base64: '', total_bytes: 4 });
    expect(await read('huge', 2 ** 25, 3)).toMatchObject({ base64: base64([0, 0, 0]), total_bytes: 2 ** 26 });
    await remote.exec(scope, { key: newKey(), command: 'ln one.gif twice; rm huge', ...limits }, going);
    const refusals = await Promise.all(
      ['link', 'd', 'f', 'one.gif', 'none', '../../etc/passwd'].map((name) => read(name)),
    );
    expect(refusals.map((refusal) => ('reason' in refusal ? refusal.reason : refusal.outcome))).toEqual([
      ...['not_regular', 'is_directory', 'not_regular', 'not_regular', 'not_found', 'outside'],
    ]);
  });

  test('says why a file is refused', async () => {
    const read = (path: string) => remote.read(scope, { path, max_bytes: 100 }, going);

    expect(await read('/etc/passwd')).toEqual({ outcome: 'refused', reason: 'outside' });
    expect(await read('/mnt/user-data/workspace/none')).toEqual({ outcome: 'refused', reason: 'not_found' });
  });

  test('over the quota writes and edits are refused with the limit, and commands are told until there is room', async () => {
    const path = '/mnt/user-data/workspace/note';
    const write = () => remote.write(scope, { key: newKey(), path, content: 'text', append: false }, going);
    const exec = (command: string) => remote.exec(scope, { key: newKey(), command, ...limits }, going);
    await write();
    await exec('head -c 9000000 /dev/zero > big');

    const refused = {
      outcome: 'refused',
      reason: 'no_space',
      message: expect.stringMatching(/^\S+\/note: this thread's files take 8\.\d MiB, and may take 8 MiB$/),
    };
    expect(await write()).toEqual(refused);
    const edit = { key: newKey(), path, old_text: 'text', new_text: 'other', replace_all: false };
    expect(await remote.edit(scope, edit, going)).toEqual(refused);
    expect(await exec('cat note')).toMatchObject({
      stdout: 'text',
      stderr: expect.stringMatching(/\[nothing can be written: this thread's files take/),
    });
    expect(await exec('rm big')).toMatchObject({ stderr: '', exit_code: 0 });
    expect(await write()).toEqual({ outcome: 'ok', bytes: 4 });
  });

  test('a caller that only stops waiting ends nothing; a cancelled run ends its command', async () => {
    const mark = `77${process.pid}`;
    const key = newKey();
    const command = { key, command: `sleep ${mark}`, ...limits };
    const left = new AbortController();
    const waiting = remote.exec(scope, command, left.signal);
    await waitFor(() => processesWith(mark).length > 0, { what: 'the command' });
    left.abort(new Error('the lease was lost'));
    await expect(waiting).rejects.toThrow('the lease was lost');
    expect(processesWith(mark)).not.toEqual([]);

    const cancelled = new AbortController();
    const attached = remote.exec(scope, command, cancelled.signal).catch((error: unknown) => error);
    cancelled.abort(new RunCancelled('interrupt'));
    await attached;
    await waitFor(() => processesWith(mark).length === 0, { what: 'its end' });

    expect(await remote.exec(scope, command, going)).toMatchObject({ outcome: 'done', cancelled: true });
  });

  test('a journal that lost its newest entries never makes this manager run a command or a write twice', async () => {
    const forget = async (key: string): Promise<void> => {
      const name = redis.keys.executionPrefix(scope) + key;
      expect(await redis.use((client) => client.del(name))).toBe(1);
    };
    const [key, write, during] = [newKey(), newKey(), newKey()];
    const once = { key, command: 'echo once >> ledger; cat ledger', ...limits };
    const append = { key: write, path: '/mnt/user-data/workspace/ledger', content: 'written\n', append: true };
    const first = [await remote.exec(scope, once, going), await remote.write(scope, append, going)];

    await forget(key);
    await forget(write);
    expect([await remote.exec(scope, once, going), await remote.write(scope, append, going)]).toEqual(first);

    const command = 'echo during >> ledger; until [ -e gone ]; do sleep 0.05; done; cat ledger';
    const running = remote.exec(scope, { key: during, command, ...limits }, going);
    const name = redis.keys.executionPrefix(scope) + during;
    await waitFor(async () => (await redis.use((client) => client.exists(name))) === 1, { what: 'the entry' });
    await forget(during);
    await remote.write(scope, { ...append, key: newKey(), path: '/mnt/user-data/workspace/gone' }, going);
    expect(await running).toMatchObject({ outcome: 'done', stdout: 'once\nwritten\nduring\n' });
    expect(await redis.use((client) => client.hexists(name, 'result'))).toBe(1);
  });

  test('an execution that a later entry of another manager says is lost keeps the result that this one had', async () => {
    const key = newKey();
    const request = { key, command: 'echo mine', ...limits };
    const first = await remote.exec(scope, request, going);
    const name = redis.keys.executionPrefix(scope) + key;
    await redis.use((client) => client.multi().hdel(name, 'result', 'ended_by').hset(name, 'manager', 'other').exec());

    expect(await remote.exec(scope, request, going)).toEqual(first);
  });

  test('NATS away while a command ends: its caller reads the result from the journal', async () => {
    const command = 'echo once >> cut; until [ -e reached ]; do sleep 0.05; done; cat cut';
    const running = remote.exec(scope, { key: newKey(), command, ...limits }, going);
    const workspace = join(home, 'users', 'default', 'threads', 'thread-1', 'user-data', 'workspace');
    await waitFor(() => existsSync(join(workspace, 'cut')), { what: 'the command' });

    await nats.kill9();
    writeFileSync(join(workspace, 'reached'), '');

    expect(await running).toMatchObject({ outcome: 'done', stdout: 'once\n' });
    await nats.restart();
    await bus.whenConnected();
    const after = { key: newKey(), command: 'cat cut', ...limits };
    expect(await remote.exec(scope, after, going)).toMatchObject({ stdout: 'once\n' });
  }, 60_000);

  test('a manager that is cut off from Redis ends what it runs before its lease is over', async () => {
    const other = { ...scope, threadId: 'thread-2' };
    await redis.use((client) => client.set(redis.keys.thread(other).lease, 'owner:1', 'PX', 600_000));
    const proxy = await startProxy({ target: redisServer.port });
    const cut = await startManager(proxy.url('redis'), { managerLeaseMs: 3_000, managerRenewMs: 500 });
    const binding = { manager: cut.parts.managerId, sandbox: `sandbox-${process.pid}`, driver: 'bwrap' };
    await redis.use((client) => client.hset(redis.keys.thread(other).sandbox, binding));
    const mark = `79${process.pid}`;
    const command = { key: newKey(), command: `echo once >> effect; sleep ${mark}`, ...limits };
    try {
      await cut.parts.pool.acquire(other, 1);
      const left = new AbortController();
      const waiting = remote.exec(other, command, left.signal);
      await waitFor(() => processesWith(mark).length > 0, { what: 'the command' });
      left.abort(new Error('nobody waits'));
      await expect(waiting).rejects.toThrow('nobody waits');

      proxy.refuse();
      proxy.cut();

      // Nobody else asks for the thread, so it is the manager itself that ends the command.
      await waitFor(() => processesWith(mark).length === 0, { what: 'the end of the command' });
      expect(await remote.exec(other, command, going)).toMatchObject({ outcome: 'unknown' });
      const after = await remote.exec(other, { ...command, key: newKey(), command: 'cat effect' }, going);
      expect(after).toMatchObject({ outcome: 'done', stdout: 'once\n' });
    } finally {
      proxy.accept();
      await waitFor(() => cut.parts.lease.isHeld(), { what: 'the lease' });
      await stop(cut);
      await proxy.stop();
    }
  }, 60_000);

  test('an epoch that is not the current one does nothing', async () => {
    const stale = { ...scope, epoch: 999 };

    await expect(remote.exec(stale, { key: newKey(), command: 'touch stale', ...limits }, going)).rejects.toMatchObject(
      {
        code: 'fenced',
      },
    );
  });

  test('when a manager goes away in a command, another ends it and says that its outcome is unknown', async () => {
    const mark = `78${process.pid}`;
    const key = newKey();
    const running = remote.exec(scope, { key, command: `echo once >> effect; sleep ${mark}`, ...limits }, going);
    await waitFor(() => processesWith(mark).length > 0, { what: 'the command' });
    const [first] = managers;
    if (first === undefined) throw new Error('no manager');
    await startManager();

    await crash(first);

    expect(await running).toMatchObject({ outcome: 'unknown' });
    expect(processesWith(mark)).toEqual([]);
    const after = await remote.exec(scope, { key: newKey(), command: 'cat effect', ...limits }, going);
    expect(after).toMatchObject({ outcome: 'done', stdout: 'once\n' });
  }, 60_000);
});
