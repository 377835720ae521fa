import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HttpAgentClient } from '@caribou/sandbox';
import { temporaryFolder } from '@caribou/testing';
import { AgentProcess, buildAgent, describeWithAgent } from '../testing/agent-process.js';

const folder = temporaryFolder();
const home = join(folder, 'home');
const copy = join(home, 'users/u1/threads/t1/user-data/workspace');
let agent: AgentProcess;
let client: HttpAgentClient;

const run = (command: string) =>
  client.exec(
    { command, timeoutMs: 30_000, maxOutputBytes: 10_000 },
    { egress: undefined, skills: undefined },
    new AbortController().signal,
  );

beforeAll(async () => {
  chmodSync(folder, 0o755);
  agent = await AgentProcess.start(await buildAgent(folder), join(folder, 'pod'));
  client = await agent.client(home);
}, 60_000);

afterAll(async () => {
  await client.close();
  await agent.stop();
});

describeWithAgent('files of a sandbox', () => {
  test('are exchanged when there are so many that a program looks for changes', async () => {
    await run('mkdir many; cd many; for i in $(seq 2500); do echo $i >f$i; done');
    expect(readdirSync(join(copy, 'many'))).toHaveLength(2500);

    await run('cd many; rm f1; echo changed >f2; (sleep 0.01 &)');

    expect(existsSync(join(copy, 'many/f1'))).toBe(false);
    expect(readFileSync(join(copy, 'many/f2'), 'utf8')).toBe('changed\n');
    writeFileSync(join(copy, 'many/f3'), 'edited');
    rmSync(join(copy, 'many/f4'));
    expect((await run('cat many/f3; ls many | wc -l; rm -r many')).stdout).toBe('edited2498\n');
    expect(existsSync(join(copy, 'many'))).toBe(false);
  });

  test('are read and written whatever modes their owner gave them', async () => {
    await run('mkdir -p closed/in; echo x >closed/in/f; echo s >secret; chmod 000 secret; chmod 555 closed closed/in');
    expect(readFileSync(join(copy, 'secret'), 'utf8')).toBe('s\n');
    writeFileSync(join(copy, 'closed/in/g'), 'y');
    expect(
      (await run('ls closed/in; stat -c %a secret closed/in; chmod -R u+w closed; rm -rf closed secret')).stdout,
    ).toBe('f\ng\n0\n555\n');
    expect(existsSync(join(copy, 'closed'))).toBe(false);
  });

  test('follow when a command removes or replaces the data directories', async () => {
    writeFileSync(join(copy, 'a'), 'x');
    await run('cd /; rm -rf /mnt/user-data/workspace; ln -s /etc /mnt/user-data/workspace');
    expect(readdirSync(copy)).toEqual([]);
    expect((await run('pwd -P; ls -A; ls -A /mnt/user-data')).stdout).toBe(
      '/mnt/user-data/workspace\noutputs\nuploads\nworkspace\n',
    );
  });

  test('are exchanged whatever a command leaves at the path of files on their way, and after it has locked itself out', async () => {
    for (const trap of ['ln -s /etc .caribou', 'ln -s /nowhere .caribou', 'touch .caribou', 'mkdir -m 0 .caribou']) {
      await run(`cd /mnt/user-data && ${trap}; chmod 0 /mnt/user-data/workspace`);
      writeFileSync(join(copy, 'next.txt'), trap);
      expect((await run('cat next.txt; ls -A /mnt/user-data')).stdout).toBe(`${trap}outputs\nuploads\nworkspace\n`);
    }
  });

  test('of an earlier session are replaced by those of the copy', async () => {
    await run('echo old >old.txt');
    const other = await agent.client(join(folder, 'other-home'), 't2');
    mkdirSync(join(folder, 'other-home/users/u1/threads/t2/user-data/workspace'), { recursive: true });
    const command = { command: 'ls -A', timeoutMs: 10_000, maxOutputBytes: 1000 };
    const result = await other.exec(command, { egress: undefined, skills: undefined }, new AbortController().signal);
    expect(result.stdout).toBe('');
    await other.close();
    // The client sees that the pod has other files now, and sends its own.
    expect((await run('cat old.txt')).stdout).toBe('old\n');
  });

  test('are hardly anything beside their directories', async () => {
    expect((await run('ls -A /mnt/user-data /mnt/skills')).stdout).toBe(
      '/mnt/skills:\n\n/mnt/user-data:\noutputs\nuploads\nworkspace\n',
    );
  });
});
