import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { testSandboxSettings, waitFor } from '@caribou/testing';
import { BwrapDriver } from './bwrap-driver.js';
import { BwrapRecords } from './bwrap-records.js';
import type { CommandResult, SandboxSpec } from '../drivers/driver.js';
import { groupMembers } from './process-group.js';

/** A sandbox is set up within some 20 ms here; moments up to twice that are tried. */
const MOMENTS_MS = Array.from({ length: 80 }, (_, at) => at / 2);
const LANES = 4;
const DEADLINE_MS = 10_000;

describe('the process group of a launch', () => {
  let home: string;
  let driver: BwrapDriver;

  const readyDriver = async (): Promise<BwrapDriver> => {
    const made = new BwrapDriver(testSandboxSettings(home, { driver: 'bwrap' }));
    expect(await made.probe()).toMatchObject({ ok: true });
    return made;
  };
  const sandboxAt = (moment: number): SandboxSpec => {
    const id = `group-${process.pid}-${2 * moment}`;
    return { sandboxId: id, managerId: 'm1', userId: 'default', threadId: id };
  };
  const run = (sandbox: SandboxSpec, command: string, signal = new AbortController().signal): Promise<CommandResult> =>
    driver.exec(sandbox, { command, timeoutMs: 60_000, maxOutputBytes: 1024 }, signal);
  /** A command that is over has closed its output, which everything of bwrap has open from its start on. */
  const within = async <T>(work: Promise<T>): Promise<T | 'not over'> =>
    Promise.race([work, sleep(DEADLINE_MS, 'not over' as const, { ref: false })]);
  const atEachMoment = async (attempt: (momentMs: number) => Promise<void>): Promise<void> => {
    const left = [...MOMENTS_MS];
    const lane = async (): Promise<void> => {
      for (let moment = left.shift(); moment !== undefined; moment = left.shift()) await attempt(moment);
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  };

  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), 'caribou-group-'));
    driver = await readyDriver();
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  test('is over when its command is cancelled, at whatever moment of its start', async () => {
    const ends: unknown[] = [];
    await atEachMoment(async (moment) => {
      const sandbox = sandboxAt(moment);
      await driver.create(sandbox, { fresh: true });
      const cancel = new AbortController();
      const running = run(sandbox, 'sleep 600', cancel.signal);
      await sleep(moment);
      cancel.abort();
      const end = await within(running);
      ends.push(end === 'not over' ? `not over, cancelled after ${moment} ms` : end.endedBy);
    });

    expect(ends).toEqual(MOMENTS_MS.map(() => 'cancel'));
  });

  test('is ended by the next manager when the process outside was killed, at whatever moment of its start', async () => {
    const records = new BwrapRecords({ runDir: join(home, 'run'), homeDir: home });
    const next = await readyDriver();
    const left: unknown[] = [];
    await atEachMoment(async (moment) => {
      const sandbox = sandboxAt(moment);
      await driver.create(sandbox, { fresh: true });
      const running = run(sandbox, 'sleep 600').then(
        () => 'over',
        () => 'over',
      );
      const leader = await waitFor(() => Promise.resolve(records.read(sandbox.sandboxId)[0]), {
        what: 'its record',
        everyMs: 1,
      });
      await sleep(moment);
      process.kill(leader.pid, 'SIGKILL');
      await next.create(sandbox, { fresh: true });
      if ((await within(running)) !== 'over' || groupMembers(leader).length > 0) left.push(`killed after ${moment} ms`);
    });

    expect(left).toEqual([]);
  });

  test('is out of reach of a command that signals its own', async () => {
    const sandbox = sandboxAt(0);
    await driver.create(sandbox, { fresh: true });

    expect(await run(sandbox, 'trap "" TERM; kill -TERM 0; echo alive')).toMatchObject({
      exitCode: 0,
      stdout: 'alive\n',
    });
    expect(await run(sandbox, 'kill -9 0')).toMatchObject({ exitCode: 137, endedBy: 'exit' });
    expect(await run(sandbox, 'ps -o tty= -p $$')).toMatchObject({ stdout: '?\n' });
  });
});
