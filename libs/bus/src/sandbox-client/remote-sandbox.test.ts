import {
  ConflictError,
  FencedError,
  managerSubject,
  NotFoundError,
  SandboxAcquire,
  SandboxCancel,
  sandboxOperations,
  SandboxRelease,
  toWireError,
  UnavailableError,
} from '@caribou/contracts';
import { RunCancelled, RunLost, type SandboxPort, silentLogger } from '@caribou/core';
import { startNats, type TestServer, waitFor } from '@caribou/testing';
import { connect, type NatsConnection } from 'nats';
import { type Bus, connectBus, createRemoteSandbox } from '../index.js';

type Handler = (request: Record<string, unknown>) => unknown;

const scope = { userId: 'default', threadId: 't1', epoch: 7 };
const request = { key: 'run:call', command: 'true', timeout_ms: 1_000, max_output_bytes: 2_048 };
const done = {
  ...{ outcome: 'done', exit_code: 0, stdout: 'out', stderr: '', truncated_bytes: 0 },
  ...{ timed_out: false, cancelled: false, duration_ms: 3 },
};
const boxOf = (id: string) => ({ sandbox_id: `box-${id}`, manager_id: id, driver: 'bwrap' });
const box = (id: string) => ({ sandboxId: `box-${id}`, managerId: id });
const forever = (): Promise<never> => new Promise(() => undefined);

describe('remote sandbox', () => {
  let nats: TestServer;
  let bus: Bus;
  let sandbox: SandboxPort;
  const alive = new Set<string>();
  /** Who holds the sandbox; whoever is asked, when undefined. */
  let holder: string | undefined;
  const connections: NatsConnection[] = [];

  /** A manager in Nest's packet format: it acquires by queue group and serves its own subject. */
  const manager = async (id: string, handlers: Readonly<Record<string, Handler>>): Promise<NatsConnection> => {
    const raw = await connect({ servers: nats.url });
    connections.push(raw);
    alive.add(id);
    const serve = (subject: string, handle: Handler, queue?: string): void => {
      raw.subscribe(subject, {
        ...(queue === undefined ? {} : { queue }),
        callback: (_, message) => {
          const packet = message.json<{ id: string; data: Record<string, unknown> }>();
          const answer = async (): Promise<object> => {
            try {
              return { response: await handle(packet.data) };
            } catch (cause) {
              return { err: toWireError(cause) };
            }
          };
          void answer().then((reply) => message.respond(JSON.stringify({ ...reply, isDisposed: true, id: packet.id })));
        },
      });
    };
    serve(SandboxAcquire.name, handlers['acquire'] ?? (() => boxOf(holder ?? id)), 'managers');
    for (const contract of [...Object.values(sandboxOperations), SandboxCancel, SandboxRelease]) {
      const handle = handlers[contract.name];
      if (handle !== undefined) serve(managerSubject(id, contract), handle);
    }
    await raw.flush();
    return raw;
  };

  const dies = async (id: string, raw: NatsConnection): Promise<void> => {
    alive.delete(id);
    await raw.close();
  };

  beforeEach(async () => {
    nats = await startNats();
    alive.clear();
    holder = undefined;
    bus = connectBus({ url: nats.url, name: 'runner', logger: silentLogger, streams: [] });
    await bus.whenConnected();
    sandbox = createRemoteSandbox({
      bus,
      registry: {
        isManagerAlive: async (id) => alive.has(id),
        binding: async () => (holder === undefined ? null : { ...box(holder), driver: 'bwrap' }),
      },
      journal: { find: async () => ({ state: 'new' }), withdraw: async () => ({ state: 'withdrawn' }) },
      logger: silentLogger,
      lookMs: 50,
      acquireMs: 300,
    });
  });

  afterEach(async () => {
    await bus.close(200);
    await Promise.all(connections.splice(0).map((raw) => raw.close()));
    await nats.stop();
  });

  test('acquires once, keeps the binding for the epoch, and translates each reply', async () => {
    const seen: Record<string, unknown>[] = [];
    await manager('m1', {
      exec: (data) => (seen.push(data), done),
      read: () => ({ outcome: 'ok', text: 'hello', total_bytes: 5, total_lines: 1, truncated: false }),
      write: () => ({ outcome: 'refused', reason: 'no_space' }),
    });
    const { signal } = new AbortController();
    expect(sandbox.binding(scope)).toBeUndefined();
    expect(await sandbox.exec(scope, request, signal)).toMatchObject({
      outcome: 'done',
      exit_code: 0,
      truncated_bytes: 0,
    });
    expect(await sandbox.read(scope, { path: '/x', max_bytes: 10 }, signal)).toMatchObject({
      text: 'hello',
      total_lines: 1,
    });
    const write = { key: 'run:call2', path: '/x', content: '', append: false };
    expect(await sandbox.write(scope, write, signal)).toEqual({ outcome: 'refused', reason: 'no_space' });
    expect(sandbox.binding(scope)).toEqual({ sandbox_id: 'box-m1', driver: 'bwrap' });
    expect(sandbox.binding({ ...scope, epoch: 8 })).toBeUndefined();
    expect(seen[0]).toMatchObject({
      user_id: 'default',
      thread_id: 't1',
      epoch: 7,
      sandbox_id: 'box-m1',
      key: 'run:call',
    });
  });

  test('a sandbox asked of a manager that dies over it is asked of another', async () => {
    let asked = false;
    const dying = await manager('m1', { acquire: () => ((asked = true), forever()) });
    const executed = sandbox.exec(scope, request, new AbortController().signal);
    await waitFor(() => asked, { what: 'the first request' });
    await manager('m2', { exec: () => done });
    await dies('m1', dying);
    expect(await executed).toMatchObject({ outcome: 'done' });
    expect(sandbox.binding(scope)).toMatchObject({ sandbox_id: 'box-m2' });
  });

  test('a manager that was named before it has made room for the thread is asked again', async () => {
    let asked = 0;
    const exec = () => {
      asked += 1;
      if (asked < 3) throw new NotFoundError('not here', { details: { resource: 'sandbox', id: 'box-m1' } });
      return done;
    };
    await manager('m1', { exec });
    expect(await sandbox.exec(scope, request, new AbortController().signal)).toMatchObject({ outcome: 'done' });
    expect(asked).toBe(3);
  });

  test.each(['another_binding', 'started_by_another', 'ended_as_unknown'])(
    'a manager that is refused because another one has the sandbox (%s): the same key is asked of that one',
    async (reason) => {
      const keys: unknown[] = [];
      await manager('m1', {
        exec: async (data) => {
          keys.push(data['key']);
          holder = 'm2';
          throw new FencedError('not here', { details: { reason } });
        },
      });
      await manager('m2', { exec: (data) => (keys.push(data['key']), done) });
      holder = 'm1';
      expect(await sandbox.exec(scope, request, new AbortController().signal)).toMatchObject({ outcome: 'done' });
      expect(keys).toEqual([request.key, request.key]);
    },
  );

  test('a refusal because of the epoch ends the call', async () => {
    await manager('m1', {
      exec: () => {
        throw new FencedError('not yours', { details: { reason: 'another_epoch' } });
      },
    });
    await expect(sandbox.exec(scope, request, new AbortController().signal)).rejects.toThrow(FencedError);
  });

  test('the hash is that of what the model decided: same command same hash, another command another', async () => {
    const hashes: unknown[] = [];
    await manager('m1', { exec: (data) => (hashes.push(data['args_hash']), done) });
    const { signal } = new AbortController();
    await sandbox.exec(scope, request, signal);
    await sandbox.exec(scope, { ...request, max_output_bytes: 4_096 }, signal);
    await sandbox.exec(scope, { ...request, command: 'false' }, signal);
    expect(hashes[0]).toBe(hashes[1]);
    expect(hashes[2]).not.toBe(hashes[0]);
  });

  test('the hash of a call is the same in every version: another process may repeat the call after an upgrade', async () => {
    const hashes: unknown[] = [];
    const keepHash = (data: Record<string, unknown>): unknown => {
      hashes.push(data['args_hash']);
      return { outcome: 'unknown', reason: 'test' };
    };
    await manager('m1', { exec: keepHash, write: keepHash, edit: keepHash });
    const { signal } = new AbortController();
    await sandbox.exec(scope, request, signal);
    await sandbox.write(scope, { key: 'run:2', path: '/x', content: 'a', append: false }, signal);
    const edit = { key: 'run:3', path: '/x', old_text: 'a', new_text: 'b', replace_all: false };
    await sandbox.edit(scope, edit, signal);

    expect(hashes).toEqual([
      '57992d0e96653c71212b116b674eadf4acf77986c2a9d3be3724bdff2571b81b',
      '9e70da289683ff19855607646f4464bb4ff609619808d5571d1882173d40c7cb',
      'f502e15da5adcc85002865249040a65f692658c5b7e034a8704856f040d518c0',
    ]);
  });

  test('a request for each operation carries scope, sandbox and the fields of its contract, and nothing else', async () => {
    const seen: Record<string, object> = {};
    const see = (name: string) => (data: object) => {
      seen[name] = data;
      throw new ConflictError('seen');
    };
    const names = ['exec', 'read', 'read_bytes', 'write', 'edit', 'list', 'glob', 'grep', 'stat'];
    await manager('m1', Object.fromEntries(names.map((name) => [name, see(name)])));
    const { signal } = new AbortController();
    const path = '/x';
    const calls = [
      sandbox.exec(scope, { ...request, onOutput: () => undefined }, signal),
      sandbox.read(scope, { path, start_line: 2, max_bytes: 9, key: undefined }, signal),
      sandbox.readBytes(scope, { path, offset: 0, max_bytes: 9 }, signal),
      sandbox.write(scope, { key: 'run:2', path, content: 'a', append: false }, signal),
      sandbox.edit(scope, { key: 'run:3', path, old_text: 'a', new_text: 'b', replace_all: false }, signal),
      sandbox.list(scope, { path, depth: 1, max_results: 5 }, signal),
      sandbox.glob(scope, { path, pattern: '*', include_dirs: false, max_results: 5 }, signal),
      sandbox.grep(scope, { path, pattern: 'x', literal: true, case_sensitive: true, max_results: 5 }, signal),
      sandbox.stat(scope, { key: 'run:4', paths: [path] }, signal),
    ];
    for (const call of calls) await expect(call).rejects.toThrow(ConflictError);

    const box = ['epoch', 'sandbox_id', 'thread_id', 'user_id'];
    const fields = (...own: string[]): string[] => [...box, ...own].sort();
    expect(Object.fromEntries(Object.entries(seen).map(([name, data]) => [name, Object.keys(data).sort()]))).toEqual({
      exec: fields('key', 'args_hash', 'command', 'timeout_ms', 'max_output_bytes'),
      read: fields('path', 'start_line', 'max_bytes'),
      read_bytes: fields('path', 'offset', 'max_bytes'),
      write: fields('key', 'args_hash', 'path', 'content', 'append'),
      edit: fields('key', 'args_hash', 'path', 'old_text', 'new_text', 'replace_all'),
      list: fields('path', 'depth', 'max_results'),
      glob: fields('path', 'pattern', 'include_dirs', 'max_results'),
      grep: fields('path', 'pattern', 'literal', 'case_sensitive', 'max_results'),
      stat: fields('key', 'paths'),
    });
  });

  test("a manager's refusal arrives as the error of its code", async () => {
    await manager('m1', {
      exec: () => {
        throw new ConflictError('the key was used with other arguments');
      },
    });
    await expect(sandbox.exec(scope, request, new AbortController().signal)).rejects.toThrow(ConflictError);
  });

  test('a manager that dies while it works: the same key is asked at the next one, whose answer counts', async () => {
    const keys: unknown[] = [];
    const first = await manager('m1', { exec: (data) => (keys.push(data['key']), forever()) });
    const answer = sandbox.exec(scope, request, new AbortController().signal);
    await waitFor(() => keys.length === 1, { what: 'the command' });
    await manager('m2', {
      exec: (data) => (keys.push(data['key']), { outcome: 'unknown', reason: 'its manager died' }),
    });
    await dies('m1', first);
    expect(await answer).toEqual({ outcome: 'unknown', reason: 'its manager died' });
    expect(keys).toEqual([request.key, request.key]);
    expect(sandbox.binding(scope)?.sandbox_id).toBe('box-m2');
  });

  test('a manager that is stopping is asked again until another takes its place', async () => {
    let asked = 0;
    const first = await manager('m1', {
      exec: () => {
        asked += 1;
        throw new UnavailableError('stopping', { details: { dependency: 'sandbox-manager' } });
      },
    });
    const running = sandbox.exec(scope, request, new AbortController().signal);
    await waitFor(() => asked >= 2, { what: 'a second try' });
    await manager('m2', { exec: () => done });
    holder = 'm2';
    await dies('m1', first);

    expect(await running).toMatchObject({ outcome: 'done', stdout: 'out' });
  });

  test('a manager that is slow but alive is waited for', async () => {
    let finish: (reply: unknown) => void = () => undefined;
    let asked = 0;
    await manager('m1', { exec: () => ((asked += 1), new Promise((resolve) => (finish = resolve))) });
    const answer = sandbox.exec(scope, request, new AbortController().signal);
    await waitFor(() => asked === 1, { what: 'the command' });
    await bus.ping(1_000);
    setTimeout(() => finish(done), 300);
    expect(await answer).toMatchObject({ outcome: 'done' });
    expect(asked).toBe(1);
  });

  test('a server killed in the middle of a command: the same key is asked again after its restart', async () => {
    let asked = 0;
    await manager('m1', { exec: () => ((asked += 1) === 1 ? forever() : done) });
    const answer = sandbox.exec(scope, request, new AbortController().signal);
    await waitFor(() => asked === 1, { what: 'the command' });
    await nats.restart();
    expect(await answer).toMatchObject({ outcome: 'done' });
    expect(asked).toBe(2);
  });

  test('a sandbox is given back only after the cancel of its command was answered, and then at once', async () => {
    const told: string[] = [];
    let asked = 0;
    let answer: (reply: object) => void = () => undefined;
    await manager('m1', {
      exec: () => ((asked += 1), forever()),
      cancel: ({ key }) => {
        told.push(`cancel ${String(key)}`);
        return new Promise((resolve) => (answer = resolve));
      },
      release: () => (told.push('release'), { released: true }),
    });
    const cancelled = new AbortController();
    const cancelling = sandbox.exec(scope, { ...request, onOutput: () => undefined }, cancelled.signal);
    const gone = expect(cancelling).rejects.toThrow(RunCancelled);
    await waitFor(() => asked === 1, { what: 'the command' });
    cancelled.abort(new RunCancelled('interrupt'));
    const released = sandbox.release(scope).then(() => told.push('released'));
    await waitFor(() => told.length > 0, { what: 'the cancel' });
    await bus.ping(5_000);
    expect(told).toEqual([`cancel ${request.key}`]);

    answer({ cancelled: true });
    await Promise.all([gone, released]);

    expect(told).toEqual([`cancel ${request.key}`, 'release', 'released']);
  });

  test('a command that is not cancelled does not hold up a release', async () => {
    let asked = 0;
    await manager('m1', { exec: () => ((asked += 1), forever()), release: () => ({ released: true }) });
    const lost = new AbortController();
    const running = sandbox.exec(scope, request, lost.signal);
    const gone = expect(running).rejects.toThrow(RunLost);
    await waitFor(() => asked === 1, { what: 'the command' });

    await sandbox.release(scope);

    lost.abort(new RunLost('lease'));
    await gone;
  });

  test('a cancelled run cancels its command with the epoch, a lost run tells nobody', async () => {
    const cancels: Record<string, unknown>[] = [];
    let asked = 0;
    await manager('m1', {
      exec: () => ((asked += 1), forever()),
      cancel: (data) => (cancels.push(data), { cancelled: true }),
    });
    const lost = new AbortController();
    const losing = sandbox.exec(scope, request, lost.signal);
    await waitFor(() => asked === 1, { what: 'the command' });
    lost.abort(new RunLost('lease'));
    await expect(losing).rejects.toThrow(RunLost);
    expect(cancels).toEqual([]);
    const cancelled = new AbortController();
    const cancelling = sandbox.exec(scope, request, cancelled.signal);
    await waitFor(() => asked === 2, { what: 'the command' });
    cancelled.abort(new RunCancelled('interrupt'));
    await expect(cancelling).rejects.toThrow(RunCancelled);
    expect(cancels).toEqual([
      { user_id: 'default', thread_id: 't1', epoch: 7, sandbox_id: 'box-m1', key: request.key },
    ]);
  });

  test('a command that another process had asked for is cancelled at the manager the thread is bound to', async () => {
    const cancels: Record<string, unknown>[] = [];
    await manager('m1', { cancel: (data) => (cancels.push(data), { cancelled: true }) });
    const { signal } = new AbortController();
    await sandbox.cancel(scope, request.key, signal);
    expect(cancels).toEqual([]);

    holder = 'm1';
    await sandbox.cancel(scope, request.key, signal);

    expect(cancels).toEqual([
      { user_id: 'default', thread_id: 't1', epoch: 7, sandbox_id: 'box-m1', key: request.key },
    ]);
    holder = 'nobody';
    await expect(sandbox.cancel(scope, request.key, signal)).rejects.toThrow(UnavailableError);
  });

  test('a manager that lost the sandbox is left for the one that holds it, and a stale epoch ends the call', async () => {
    let staleEpoch = false;
    let answers = 0;
    await manager('m1', {
      exec: () => {
        answers += 1;
        if (answers > 1) throw new FencedError('not mine');
        return done;
      },
    });
    const { signal } = new AbortController();
    await sandbox.exec(scope, request, signal);
    await manager('m2', {
      exec: () => {
        if (staleEpoch) throw new FencedError('another epoch');
        return done;
      },
    });
    holder = 'm2';
    expect(await sandbox.exec(scope, request, signal)).toMatchObject({ outcome: 'done' });
    expect(sandbox.binding(scope)?.sandbox_id).toBe('box-m2');
    staleEpoch = true;
    await expect(sandbox.exec(scope, request, signal)).rejects.toThrow(FencedError);
  });

  test('a release without a binding asks nobody, and one whose manager is gone does not fail', async () => {
    const first = await manager('m1', { exec: () => done });
    await sandbox.release(scope);
    await sandbox.exec(scope, request, new AbortController().signal);
    await dies('m1', first);
    await sandbox.release(scope);
    expect(sandbox.binding(scope)).toBeUndefined();
  });

  test('an abort ends the search for a manager when there is none', async () => {
    const stop = new AbortController();
    const answer = sandbox.exec(scope, request, stop.signal);
    answer.catch(() => undefined);
    await bus.ping(1_000);
    stop.abort(new RunLost('lease'));
    await expect(answer).rejects.toThrow(RunLost);
    await expect(
      bus.call({ contract: SandboxAcquire }, { user_id: 'default', thread_id: 't1', epoch: 1 }),
    ).rejects.toThrow(UnavailableError);
  });
});
