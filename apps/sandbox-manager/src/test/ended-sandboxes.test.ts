import { FleetInfo, FleetSandboxes, managerSubject, SandboxEnd } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import { answerQuestions } from '../app.module.js';
import { limits, type ManagerFixture, notAborted, scope, useManagers } from '../testing/manager-fixture.js';

let managers: ManagerFixture;

useManagers((fixture) => {
  managers = fixture;
});

const thread = { user_id: scope.userId, thread_id: scope.threadId };

function running() {
  const [manager] = managers.running;
  if (manager === undefined) throw new Error('no manager runs');
  return manager.parts;
}

const end = (fields: { readonly since?: string; readonly thread_id?: string } = {}) => {
  const subject = managerSubject(running().managerId, SandboxEnd);
  const request = { ...thread, ...fields, decided_by: 'root', decided_from: '10.0.0.1' };
  return managers.bus.call({ contract: SandboxEnd, subject }, request);
};
const exec = (command: string, key = managers.newKey()) =>
  managers.remote.exec(scope, { key, command, ...limits }, notAborted);
const list = async () => {
  const { replies } = await managers.bus.askAll(FleetSandboxes, { limit: 10 }, { maxReplies: 10 });
  return replies.flatMap(({ sandboxes }) => sandboxes);
};
const endLines = async () => {
  const entries = await managers.redis.use((client) => client.xrange(managers.redis.keys.audit, '-', '+'));
  const lines = entries.map(([, [, line]]) => JSON.parse(line ?? '') as Record<string, unknown>);
  return lines.filter(({ operation }) => operation === 'end');
};

describe('a sandbox that an administrator ends, over NATS, Redis and bubblewrap', () => {
  beforeAll(() => answerQuestions(running()));

  test('is listed with its command, which ends with an unknown outcome; files stay, and the next command runs', async () => {
    await exec('echo precious > file');
    const key = managers.newKey();
    const began = 'echo begun > begun; sleep 300 & sleep 301';
    const command = exec(began, key);
    const listed = await waitFor(async () => (await list()).find(({ commands }) => commands.length === 1), {
      what: 'the command in the list',
    });
    expect(listed).toMatchObject({
      ...thread,
      driver: 'bwrap',
      in_use: true,
      commands: [{ key, since: expect.stringMatching(/^\d{4}-/) }],
      disk_bytes: expect.any(Number),
    });
    const path = '/mnt/user-data/workspace/begun';
    await waitFor(
      async () => (await managers.remote.read(scope, { path, max_bytes: 100 }, notAborted)).outcome === 'ok',
      { what: 'what the command writes' },
    );

    expect(await end()).toEqual({ outcome: 'ended', commands: 1 });

    expect(await command).toEqual({
      outcome: 'unknown',
      reason: expect.stringContaining('an administrator ended the sandbox'),
    });
    expect(await exec('cat file begun')).toMatchObject({ outcome: 'done', stdout: 'precious\nbegun\n' });
    expect(await exec(began, key)).toMatchObject({ outcome: 'unknown' });
  });

  test('is the one that was seen: another one stays', async () => {
    await exec('true');
    const [seen] = await list();
    const since = seen?.since ?? '';
    expect(await end({ since })).toEqual({ outcome: 'ended', commands: 0 });
    expect(await list()).toEqual([]);
    expect(await end()).toEqual({ outcome: 'not_held', commands: 0 });

    await exec('true');
    expect(await end({ since })).toEqual({ outcome: 'another', commands: 0 });
    expect((await list()).map(({ thread_id }) => thread_id)).toEqual([scope.threadId]);
    expect(await end({ thread_id: 'unknown' })).toEqual({ outcome: 'not_held', commands: 0 });
  });

  test('is audited with the administrator and the address of the client', async () => {
    await exec('true');
    const before = (await endLines()).length;
    await end();
    await waitFor(async () => (await endLines()).length > before, { what: 'the line' });

    expect((await endLines()).at(-1)).toMatchObject({
      ...thread,
      operation: 'end',
      verdict: 'ended',
      decided_by: 'root',
      decided_from: '10.0.0.1',
      manager_id: running().managerId,
    });
  });

  test('its manager answers about itself, with what it holds', async () => {
    await exec('true');
    const { replies } = await managers.bus.askAll(FleetInfo, {}, { maxReplies: 10 });

    expect(replies).toEqual([
      expect.objectContaining({
        service: 'sandbox-manager',
        id: running().managerId,
        state: 'ready',
        slots: expect.arrayContaining([{ kind: 'sandboxes', used: 1, limit: expect.any(Number) }]),
        open_streams: null,
      }),
    ]);
  });
});
