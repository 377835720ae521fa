import { waitFor } from '@caribou/testing';
import { limits, type ManagerFixture, notAborted, scope, useManagers } from '../testing/manager-fixture.js';

let managers: ManagerFixture;

useManagers((fixture) => {
  managers = fixture;
});

/** The audit as it is stored, oldest first. */
async function readAudit(): Promise<Record<string, unknown>[]> {
  const entries = await managers.redis.use((client) => client.xrange(managers.redis.keys.audit, '-', '+'));
  return entries.map(([, [, line]]) => JSON.parse(line ?? '') as Record<string, unknown>);
}

describe('the audit of a sandbox-manager', () => {
  test('audits each operation, with who asked, what for and what came of it', async () => {
    const key = managers.newKey();
    await managers.remote.exec(scope, { key, command: 'echo hello; exit 3', ...limits }, notAborted);
    await managers.remote.read(scope, { path: '/etc/passwd', max_bytes: 100 }, notAborted);
    await waitFor(async () => (await readAudit()).some(({ what }) => what === '/etc/passwd'), {
      what: 'the last line',
    });

    const all = await readAudit();
    const who = { user_id: 'default', thread_id: 'thread-1', manager_id: managers.running[0]?.parts.managerId };
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

  test('audits the verdict of the command rules, also on a command that was blocked before it reached a manager', async () => {
    const warned = { verdict: 'warn' as const, rules: ['chmod-777'] };
    const [ran, refused] = [managers.newKey(), managers.newKey()];
    await managers.remote.exec(scope, { key: ran, command: 'echo warned', ...limits, audit: warned }, notAborted);
    await managers.remote.blocked(
      scope,
      { key: refused, command: `rm -rf / #${'x'.repeat(5000)}`, rules: ['rm-root'] },
      notAborted,
    );
    const lines = async () => (await readAudit()).filter(({ command_verdict }) => command_verdict !== undefined);
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
});
