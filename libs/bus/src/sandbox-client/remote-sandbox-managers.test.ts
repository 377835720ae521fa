import { FencedError, NotFoundError, UnavailableError } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import {
  done,
  forever,
  type RemoteSandboxFixture,
  request,
  scope,
  useRemoteSandbox,
} from '../testing/remote-sandbox-fixture.js';

let remote: RemoteSandboxFixture;

useRemoteSandbox((fixture) => {
  remote = fixture;
});

describe('remote sandbox whose manager changes', () => {
  test('a sandbox whose manager dies during the request is requested from another one', async () => {
    let asked = false;
    const dying = await remote.startManager('m1', { acquire: () => ((asked = true), forever()) });
    const executed = remote.sandbox.exec(scope, request, new AbortController().signal);
    await waitFor(() => asked, { what: 'the first request' });
    await remote.startManager('m2', { exec: () => done });
    await remote.stopManager('m1', dying);
    expect(await executed).toMatchObject({ outcome: 'done' });
    expect(remote.sandbox.binding(scope)).toMatchObject({ sandbox_id: 'box-m2' });
  });

  test('a request is repeated at a manager that does not have the new sandbox yet', async () => {
    let asked = 0;
    const exec = () => {
      asked += 1;
      if (asked < 3) throw new NotFoundError('not here', { details: { resource: 'sandbox', id: 'box-m1' } });
      return done;
    };
    await remote.startManager('m1', { exec });
    expect(await remote.sandbox.exec(scope, request, new AbortController().signal)).toMatchObject({ outcome: 'done' });
    expect(asked).toBe(3);
  });

  test.each(['another_binding', 'started_by_another', 'ended_as_unknown'])(
    'when another manager has the sandbox (%s), the same key is requested from that one',
    async (reason) => {
      const keys: unknown[] = [];
      await remote.startManager('m1', {
        exec: async (data) => {
          keys.push(data['key']);
          remote.holder = 'm2';
          throw new FencedError('not here', { details: { reason } });
        },
      });
      await remote.startManager('m2', { exec: (data) => (keys.push(data['key']), done) });
      remote.holder = 'm1';
      expect(await remote.sandbox.exec(scope, request, new AbortController().signal)).toMatchObject({
        outcome: 'done',
      });
      expect(keys).toEqual([request.key, request.key]);
    },
  );

  test('when a manager dies during a command, the same key is requested from the next one, whose reply counts', async () => {
    const keys: unknown[] = [];
    const first = await remote.startManager('m1', { exec: (data) => (keys.push(data['key']), forever()) });
    const answer = remote.sandbox.exec(scope, request, new AbortController().signal);
    await waitFor(() => keys.length === 1, { what: 'the command' });
    await remote.startManager('m2', {
      exec: (data) => (keys.push(data['key']), { outcome: 'unknown', reason: 'its manager died' }),
    });
    await remote.stopManager('m1', first);
    expect(await answer).toEqual({ outcome: 'unknown', reason: 'its manager died' });
    expect(keys).toEqual([request.key, request.key]);
    expect(remote.sandbox.binding(scope)?.sandbox_id).toBe('box-m2');
  });

  test('a request to a manager that is stopping is repeated until another one has the sandbox', async () => {
    let asked = 0;
    const first = await remote.startManager('m1', {
      exec: () => {
        asked += 1;
        throw new UnavailableError('stopping', { details: { dependency: 'sandbox-manager' } });
      },
    });
    const running = remote.sandbox.exec(scope, request, new AbortController().signal);
    await waitFor(() => asked >= 2, { what: 'a second try' });
    await remote.startManager('m2', { exec: () => done });
    remote.holder = 'm2';
    await remote.stopManager('m1', first);

    expect(await running).toMatchObject({ outcome: 'done', stdout: 'out' });
  });

  test('a thread that its manager has given back is requested from the next one without a pause', async () => {
    let asked = 0;
    const exec = () => {
      asked += 1;
      remote.holder = 'm2';
      throw new NotFoundError('given back', { details: { resource: 'sandbox', given_back: true } });
    };
    await remote.startManager('m1', { exec });
    remote.holder = 'm1';
    const keys: unknown[] = [];
    await remote.startManager('m2', { exec: (data) => (keys.push(data['key']), done) });

    expect(await remote.sandbox.exec(scope, request, new AbortController().signal)).toMatchObject({ outcome: 'done' });

    expect([asked, keys]).toEqual([1, [request.key]]);
    expect(remote.sandbox.binding(scope)?.sandbox_id).toBe('box-m2');
  });

  test('a manager that is slow but alive is waited for', async () => {
    let finish: (reply: unknown) => void = () => undefined;
    let asked = 0;
    await remote.startManager('m1', { exec: () => ((asked += 1), new Promise((resolve) => (finish = resolve))) });
    const answer = remote.sandbox.exec(scope, request, new AbortController().signal);
    await waitFor(() => asked === 1, { what: 'the command' });
    await remote.bus.ping(1_000);
    setTimeout(() => finish(done), 300);
    expect(await answer).toMatchObject({ outcome: 'done' });
    expect(asked).toBe(1);
  });

  test('when NATS is killed during a command, the same key is requested again after its restart', async () => {
    let asked = 0;
    await remote.startManager('m1', { exec: () => ((asked += 1) === 1 ? forever() : done) });
    const answer = remote.sandbox.exec(scope, request, new AbortController().signal);
    await waitFor(() => asked === 1, { what: 'the command' });
    await remote.nats.restart();
    expect(await answer).toMatchObject({ outcome: 'done' });
    expect(asked).toBe(2);
  });

  test('a call moves from a manager that lost the sandbox to the one that has it, and a stale epoch ends the call', async () => {
    let staleEpoch = false;
    let answers = 0;
    await remote.startManager('m1', {
      exec: () => {
        answers += 1;
        if (answers > 1) throw new FencedError('not mine');
        return done;
      },
    });
    const { signal } = new AbortController();
    await remote.sandbox.exec(scope, request, signal);
    await remote.startManager('m2', {
      exec: () => {
        if (staleEpoch) throw new FencedError('another epoch');
        return done;
      },
    });
    remote.holder = 'm2';
    expect(await remote.sandbox.exec(scope, request, signal)).toMatchObject({ outcome: 'done' });
    expect(remote.sandbox.binding(scope)?.sandbox_id).toBe('box-m2');
    staleEpoch = true;
    await expect(remote.sandbox.exec(scope, request, signal)).rejects.toThrow(FencedError);
  });
});
