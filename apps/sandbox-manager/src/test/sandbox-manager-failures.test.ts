import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RunCancelled } from '@caribou/core';
import { processesWith, startProxy, waitFor } from '@caribou/testing';
import { limits, type ManagerFixture, notAborted, scope, useManagers } from '../testing/manager-fixture.js';

let managers: ManagerFixture;

useManagers((fixture) => {
  managers = fixture;
});

describe('commands of a sandbox-manager when something fails', () => {
  test('a caller that stops waiting does not end its command; a cancelled run does', async () => {
    const mark = `77${process.pid}`;
    const key = managers.newKey();
    const command = { key, command: `sleep ${mark}`, ...limits };
    const left = new AbortController();
    const waiting = managers.remote.exec(scope, command, left.signal);
    await waitFor(() => processesWith(mark).length > 0, { what: 'the command' });
    left.abort(new Error('the lease was lost'));
    await expect(waiting).rejects.toThrow('the lease was lost');
    expect(processesWith(mark)).not.toEqual([]);

    const cancelled = new AbortController();
    const attached = managers.remote.exec(scope, command, cancelled.signal).catch((error: unknown) => error);
    cancelled.abort(new RunCancelled('interrupt'));
    await attached;
    await waitFor(() => processesWith(mark).length === 0, { what: 'its end' });

    expect(await managers.remote.exec(scope, command, notAborted)).toMatchObject({ outcome: 'done', cancelled: true });
  });

  test('a journal that lost its newest entries never makes this manager run a command or a write twice', async () => {
    const forget = async (key: string): Promise<void> => {
      const name = managers.redis.keys.executionPrefix(scope) + key;
      expect(await managers.redis.use((client) => client.del(name))).toBe(1);
    };
    const [key, write, during] = [managers.newKey(), managers.newKey(), managers.newKey()];
    const once = { key, command: 'echo once >> ledger; cat ledger', ...limits };
    const append = { key: write, path: '/mnt/user-data/workspace/ledger', content: 'written\n', append: true };
    const first = [
      await managers.remote.exec(scope, once, notAborted),
      await managers.remote.write(scope, append, notAborted),
    ];

    await forget(key);
    await forget(write);
    expect([
      await managers.remote.exec(scope, once, notAborted),
      await managers.remote.write(scope, append, notAborted),
    ]).toEqual(first);

    const command = 'echo during >> ledger; until [ -e gone ]; do sleep 0.05; done; cat ledger';
    const running = managers.remote.exec(scope, { key: during, command, ...limits }, notAborted);
    const name = managers.redis.keys.executionPrefix(scope) + during;
    await waitFor(async () => (await managers.redis.use((client) => client.exists(name))) === 1, { what: 'the entry' });
    await forget(during);
    await managers.remote.write(
      scope,
      { ...append, key: managers.newKey(), path: '/mnt/user-data/workspace/gone' },
      notAborted,
    );
    expect(await running).toMatchObject({ outcome: 'done', stdout: 'once\nwritten\nduring\n' });
    expect(await managers.redis.use((client) => client.hexists(name, 'result'))).toBe(1);
  });

  test('an execution that a later entry of another manager says is lost keeps the result that this one had', async () => {
    const key = managers.newKey();
    const request = { key, command: 'echo mine', ...limits };
    const first = await managers.remote.exec(scope, request, notAborted);
    const name = managers.redis.keys.executionPrefix(scope) + key;
    await managers.redis.use((client) =>
      client.multi().hdel(name, 'result', 'ended_by').hset(name, 'manager', 'other').exec(),
    );

    expect(await managers.remote.exec(scope, request, notAborted)).toEqual(first);
  });

  test('NATS is unavailable while a command ends: its caller reads the result from the journal', async () => {
    const command = 'echo once >> cut; until [ -e reached ]; do sleep 0.05; done; cat cut';
    const running = managers.remote.exec(scope, { key: managers.newKey(), command, ...limits }, notAborted);
    const workspace = join(managers.home, 'users', 'default', 'threads', 'thread-1', 'user-data', 'workspace');
    await waitFor(() => existsSync(join(workspace, 'cut')), { what: 'the command' });

    await managers.nats.kill9();
    writeFileSync(join(workspace, 'reached'), '');

    expect(await running).toMatchObject({ outcome: 'done', stdout: 'once\n' });
    await managers.nats.restart();
    await managers.bus.waitUntilConnected();
    const after = { key: managers.newKey(), command: 'cat cut', ...limits };
    expect(await managers.remote.exec(scope, after, notAborted)).toMatchObject({ stdout: 'once\n' });
  }, 60_000);

  test('a manager that is cut off from Redis ends what it runs before its lease is over', async () => {
    const other = { ...scope, threadId: 'thread-2' };
    await managers.redis.use((client) => client.set(managers.redis.keys.thread(other).lease, 'owner:1', 'PX', 600_000));
    const proxy = await startProxy({ target: managers.redisServer.port });
    const cut = await managers.startManager(proxy.url('redis'), { managerLeaseMs: 3_000, managerRenewMs: 500 });
    const binding = { manager: cut.parts.managerId, sandbox: `sandbox-${process.pid}`, driver: 'bwrap' };
    await managers.redis.use((client) => client.hset(managers.redis.keys.thread(other).sandbox, binding));
    const mark = `79${process.pid}`;
    const command = { key: managers.newKey(), command: `echo once >> effect; sleep ${mark}`, ...limits };
    try {
      await cut.parts.pool.acquire(other, 1);
      const left = new AbortController();
      const waiting = managers.remote.exec(other, command, left.signal);
      await waitFor(() => processesWith(mark).length > 0, { what: 'the command' });
      left.abort(new Error('nobody waits'));
      await expect(waiting).rejects.toThrow('nobody waits');

      proxy.refuse();
      proxy.cut();

      // Nobody else asks for the thread, so it is the manager itself that ends the command.
      await waitFor(() => processesWith(mark).length === 0, { what: 'the end of the command' });
      expect(await managers.remote.exec(other, command, notAborted)).toMatchObject({ outcome: 'unknown' });
      const after = await managers.remote.exec(
        other,
        { ...command, key: managers.newKey(), command: 'cat effect' },
        notAborted,
      );
      expect(after).toMatchObject({ outcome: 'done', stdout: 'once\n' });
    } finally {
      proxy.accept();
      await waitFor(() => cut.parts.lease.isHeld(), { what: 'the lease' });
      await managers.stop(cut);
      await proxy.stop();
    }
  }, 60_000);

  test('when a manager dies during a command, another ends it and says that its outcome is unknown', async () => {
    const mark = `78${process.pid}`;
    const key = managers.newKey();
    const running = managers.remote.exec(
      scope,
      { key, command: `echo once >> effect; sleep ${mark}`, ...limits },
      notAborted,
    );
    await waitFor(() => processesWith(mark).length > 0, { what: 'the command' });
    const [first] = managers.running;
    if (first === undefined) throw new Error('no manager');
    await managers.startManager();

    await managers.crash(first);

    expect(await running).toMatchObject({ outcome: 'unknown' });
    expect(processesWith(mark)).toEqual([]);
    const after = await managers.remote.exec(
      scope,
      { key: managers.newKey(), command: 'cat effect', ...limits },
      notAborted,
    );
    expect(after).toMatchObject({ outcome: 'done', stdout: 'once\n' });
  }, 60_000);
});
