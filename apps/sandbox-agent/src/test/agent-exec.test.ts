import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandResult } from '@caribou/sandbox';
import type { HttpAgentClient, SandboxCommand } from '@caribou/sandbox';
import { temporaryFolder, waitFor } from '@caribou/testing';
import { type AgentImage, AgentProcess, buildAgent, describeWithAgent } from '../testing/agent-process.js';

const folder = temporaryFolder();
const home = join(folder, 'home');
const copy = join(home, 'users/u1/threads/t1/user-data');
let image: AgentImage;
let agent: AgentProcess;
let client: HttpAgentClient;

const never = new AbortController().signal;
const run = (command: string, more: Partial<SandboxCommand> = {}, signal = never): Promise<CommandResult> =>
  client.exec(
    { command, timeoutMs: 20_000, maxOutputBytes: 100_000, ...more },
    { egress: undefined, skills: undefined },
    signal,
  );
const processesLeft = async (): Promise<number> => (await client.health()).processes;

beforeAll(async () => {
  chmodSync(folder, 0o755);
  image = await buildAgent(folder);
  agent = await AgentProcess.start(image, join(folder, 'pod'));
  client = await agent.client(home);
}, 60_000);

afterAll(async () => {
  await client.close();
  await agent.stop();
});

describeWithAgent('a command', () => {
  test('finds the files of the copy, and what it changes is in the copy when its result is there', async () => {
    writeFileSync(join(copy, 'workspace/in.txt'), 'from the manager');
    const result = await run('cat in.txt; tr a-z A-Z <in.txt >../outputs/out.txt; mkdir -p d/e; echo err >&2; exit 3');

    expect(result).toMatchObject({ exitCode: 3, stdout: 'from the manager', stderr: 'err\n', endedBy: 'exit' });
    expect(readFileSync(join(copy, 'outputs/out.txt'), 'utf8')).toBe('FROM THE MANAGER');
    expect(statSync(join(copy, 'workspace/d/e')).isDirectory()).toBe(true);
    expect(statSync(join(copy, 'outputs/out.txt')).uid).toBe(agent.owner.uid);
  });

  test('runs as an ordinary user without capabilities, new privileges and the environment of the agent', async () => {
    const { stdout } = await run(
      'id -u; grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status; env | grep CARIBOU; pwd',
    );
    expect(stdout).toBe(
      `${agent.owner.uid}\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\n/mnt/user-data/workspace\n`,
    );
  });

  test('has limits of open files, file sizes and core dumps, and is the first to end when memory runs out', async () => {
    const { stdout } = await run(
      'ulimit -n; ulimit -c; cat /proc/self/oom_score_adj; head -c 9000 /dev/zero >f; wc -c <f',
      {
        maxFileBytes: 4096,
      },
    );
    expect(stdout).toBe('1024\n0\n1000\n4096\n');
  });

  test('keeps /tmp for the next one', async () => {
    await run('echo here >/tmp/note');
    expect((await run('cat /tmp/note; rm /tmp/note')).stdout).toBe('here\n');
  });

  test('is ended at its time-out, and what it wrote until then is in the copy', async () => {
    const result = await run('echo begun >begun.txt; sleep 100', { timeoutMs: 300 });
    expect(result).toMatchObject({ exitCode: 137, endedBy: 'timeout' });
    expect(existsSync(join(copy, 'workspace/begun.txt'))).toBe(true);
  });

  test('is ended by its caller', async () => {
    const cancel = new AbortController();
    const result = run('echo started; sleep 100', { onOutput: () => cancel.abort() }, cancel.signal);
    await expect(result).resolves.toMatchObject({ exitCode: 137, endedBy: 'cancel', stdout: 'started\n' });
  });

  test('is ended for endless output, of which the result has the beginning and the end', async () => {
    const result = await run('yes', { maxOutputBytes: 1000 });
    expect(result.endedBy).toBe('output');
    expect(result.truncatedBytes).toBeGreaterThan(2_000_000);
    expect(Buffer.byteLength(result.stdout)).toBeLessThanOrEqual(1000);
  });

  test('is ended when its files take more than they may', async () => {
    const strict = await agent.client(join(folder, 'other-home'), 't2');
    try {
      Object.assign(strict, {
        options: { ...strict['options'], limits: { ...strict['options'].limits, workspaceBytes: 1_000_000 } },
      });
      const command = {
        command: 'head -c 3000000 /dev/urandom >big; sleep 20',
        timeoutMs: 20_000,
        maxOutputBytes: 1000,
      };
      const result = await strict.exec(command, { egress: undefined, skills: undefined }, never);
      expect(result).toMatchObject({ exitCode: 137, endedBy: 'quota' });
      expect(result.stderr).toContain("this thread's files take 2.9 MiB, and may take 976.6 KiB");
    } finally {
      await strict.close();
      client = await agent.client(home);
    }
  });

  test('sends its output while it runs', async () => {
    const pieces: string[] = [];
    const result = run('echo one; until [ -e go ]; do sleep 0.02; done; echo two', {
      timeoutMs: 1_000,
      onOutput: (stream, chunk) => void pieces.push(`${stream} ${chunk.toString('utf8')}`),
    });
    await waitFor(() => pieces.length === 1, { what: 'the first output' });
    expect(pieces).toEqual(['out one\n']);
    await result;
  });

  test('finds skills that it cannot keep changed', async () => {
    const directory = join(folder, 'skills-view');
    mkdirSync(join(directory, 'public'), { recursive: true });
    writeFileSync(join(directory, 'public/SKILL.md'), 'how to');
    const skills = { directory, instance: 'i1' };
    const exec = (command: string) =>
      client.exec({ command, timeoutMs: 10_000, maxOutputBytes: 1000 }, { egress: undefined, skills }, never);

    expect((await exec('cat /mnt/skills/public/SKILL.md; echo x >/mnt/skills/public/SKILL.md')).stdout).toBe('how to');
    await exec('chmod -R u+w /mnt/skills/public; echo x >/mnt/skills/public/SKILL.md');
    expect((await exec('cat /mnt/skills/public/SKILL.md')).stdout).toBe('how to');
    expect((await run('ls /mnt/skills')).stdout).toBe('');
  });

  test.each([
    ['a process of another session', 'setsid sleep 1000 & setsid sh -c "setsid sleep 1000 & setsid sleep 1000" &'],
    ['a daemon', '(setsid sh -c "(sleep 1000 &) ; exit" &) ; sleep 0.1'],
    ['a stopped process', 'sleep 1000 & kill -STOP $!'],
    ['processes that ignore signals', 'sh -c "trap \'\' TERM HUP INT; sleep 1000" & sleep 0.1'],
    ['a fork bomb', 'bomb() { bomb | bomb & }; ulimit -u 300; bomb; sleep 0.3'],
    ['one that closes its output', 'exec >/dev/null 2>&1; sleep 1000 &'],
  ])('leaves nothing behind: %s', async (_what, command) => {
    await run(command, { timeoutMs: 3_000 });
    expect(await processesLeft()).toBe(0);
    expect((await run('echo next; ls -d /proc/[0-9]* | wc -l')).stdout).toMatch(/^next\n[1-5]\n$/);
  });

  test('reaps orphans while it runs', async () => {
    const { stdout } = await run(
      'for i in $(seq 300); do (true &) ; done; sleep 0.2; grep -l "^State:.Z" /proc/[0-9]*/status | wc -l',
    );
    expect(Number(stdout)).toBeLessThan(5);
  });
});
