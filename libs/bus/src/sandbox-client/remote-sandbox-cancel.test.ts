import { SandboxAcquire, UnavailableError } from '@caribou/contracts';
import { RunCancelled, RunLost } from '@caribou/core';
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

describe('cancel and release of a remote sandbox', () => {
  test('a sandbox is released only after the cancel of its command was answered, and then at once', async () => {
    const sent: string[] = [];
    let asked = 0;
    let answer: (reply: object) => void = () => undefined;
    await remote.startManager('m1', {
      exec: () => ((asked += 1), forever()),
      cancel: ({ key }) => {
        sent.push(`cancel ${String(key)}`);
        return new Promise((resolve) => (answer = resolve));
      },
      release: () => (sent.push('release'), { released: true }),
    });
    const cancelled = new AbortController();
    const cancelling = remote.sandbox.exec(scope, { ...request, onOutput: () => undefined }, cancelled.signal);
    const gone = expect(cancelling).rejects.toThrow(RunCancelled);
    await waitFor(() => asked === 1, { what: 'the command' });
    cancelled.abort(new RunCancelled('interrupt'));
    const released = remote.sandbox.release(scope).then(() => sent.push('released'));
    await waitFor(() => sent.length > 0, { what: 'the cancel' });
    await remote.bus.ping(5_000);
    expect(sent).toEqual([`cancel ${request.key}`]);

    answer({ cancelled: true });
    await Promise.all([gone, released]);

    expect(sent).toEqual([`cancel ${request.key}`, 'release', 'released']);
  });

  test('a command that is not cancelled does not delay a release', async () => {
    let asked = 0;
    await remote.startManager('m1', { exec: () => ((asked += 1), forever()), release: () => ({ released: true }) });
    const lost = new AbortController();
    const running = remote.sandbox.exec(scope, request, lost.signal);
    const gone = expect(running).rejects.toThrow(RunLost);
    await waitFor(() => asked === 1, { what: 'the command' });

    await remote.sandbox.release(scope);

    lost.abort(new RunLost('lease'));
    await gone;
  });

  test('a cancelled run cancels its command with the epoch, a lost run sends no cancel', async () => {
    const cancels: Record<string, unknown>[] = [];
    let asked = 0;
    await remote.startManager('m1', {
      exec: () => ((asked += 1), forever()),
      cancel: (data) => (cancels.push(data), { cancelled: true }),
    });
    const lost = new AbortController();
    const losing = remote.sandbox.exec(scope, request, lost.signal);
    await waitFor(() => asked === 1, { what: 'the command' });
    lost.abort(new RunLost('lease'));
    await expect(losing).rejects.toThrow(RunLost);
    expect(cancels).toEqual([]);
    const cancelled = new AbortController();
    const cancelling = remote.sandbox.exec(scope, request, cancelled.signal);
    await waitFor(() => asked === 2, { what: 'the command' });
    cancelled.abort(new RunCancelled('interrupt'));
    await expect(cancelling).rejects.toThrow(RunCancelled);
    expect(cancels).toEqual([
      { user_id: 'default', thread_id: 't1', epoch: 7, sandbox_id: 'box-m1', key: request.key },
    ]);
  });

  test('a command that another process started is cancelled at the manager the thread is bound to', async () => {
    const cancels: Record<string, unknown>[] = [];
    await remote.startManager('m1', { cancel: (data) => (cancels.push(data), { cancelled: true }) });
    const { signal } = new AbortController();
    await remote.sandbox.cancel(scope, request.key, signal);
    expect(cancels).toEqual([]);

    remote.holder = 'm1';
    await remote.sandbox.cancel(scope, request.key, signal);

    expect(cancels).toEqual([
      { user_id: 'default', thread_id: 't1', epoch: 7, sandbox_id: 'box-m1', key: request.key },
    ]);
    remote.holder = 'nobody';
    await expect(remote.sandbox.cancel(scope, request.key, signal)).rejects.toThrow(UnavailableError);
  });

  test('a release without a binding sends no request, and one whose manager is gone does not fail', async () => {
    const first = await remote.startManager('m1', { exec: () => done });
    await remote.sandbox.release(scope);
    await remote.sandbox.exec(scope, request, new AbortController().signal);
    await remote.stopManager('m1', first);
    await remote.sandbox.release(scope);
    expect(remote.sandbox.binding(scope)).toBeUndefined();
  });

  test('an abort ends the search for a manager when there is none', async () => {
    const stop = new AbortController();
    const answer = remote.sandbox.exec(scope, request, stop.signal);
    answer.catch(() => undefined);
    await remote.bus.ping(1_000);
    stop.abort(new RunLost('lease'));
    await expect(answer).rejects.toThrow(RunLost);
    await expect(
      remote.bus.call({ contract: SandboxAcquire }, { user_id: 'default', thread_id: 't1', epoch: 1 }),
    ).rejects.toThrow(UnavailableError);
  });
});
