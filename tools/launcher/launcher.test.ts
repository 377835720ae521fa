import { execFile, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The launcher is made of ES modules, which jest cannot load here: each test runs a few lines in a separate process. */
const runModule = (code: string) =>
  promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], { cwd: __dirname });

const claim = (folder: string) =>
  `import { claimDataFolder } from './processes/data-folder.mjs'; const claimed = await claimDataFolder(${JSON.stringify(folder)});`;

describe('claimDataFolder', () => {
  let folder = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'caribou-launcher-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test('a second launcher is refused while the first one lives', async () => {
    const second = `await claimDataFolder(${JSON.stringify(folder)}).catch((error) => console.log(error.message));`;

    const { stdout } = await runModule(`${claim(folder)} ${second}`);

    expect(stdout).toContain('Caribou is running already');
  });

  test('the lock of a dead launcher is taken over, also when its pid belongs to another process now', async () => {
    writeFileSync(join(folder, 'launcher.lock'), JSON.stringify({ pid: process.pid, startedAt: '1' }));

    const { stdout } = await runModule(`${claim(folder)} console.log('claimed'); claimed.release();`);

    expect(stdout).toContain('claimed');
  });

  test('a folder that an earlier start left readable is protected before a password is written into it', async () => {
    const folders = ['.', 'nats', 'redis', 'access', 'access/nats', 'access/redis', 'access/gateway'];
    const files = ['access/nats/nats.conf', 'access/redis/redis.conf', 'access/gateway/nats.url'];
    for (const name of folders) {
      mkdirSync(join(folder, name), { recursive: true });
      chmodSync(join(folder, name), 0o755);
    }
    for (const name of files) writeFileSync(join(folder, name), 'old', { mode: 0o644 });
    const settings = JSON.stringify({
      own: folder,
      access: join(folder, 'access'),
      redisFsync: 'everysec',
      redisMaxMemory: '1gb',
    });

    await runModule(
      `${claim(folder)} claimed.release(); import { build } from '../build/build.mjs';
       import { repository } from './repository.mjs'; await build(repository);
       import { makeAccess } from './product/servers.mjs'; await makeAccess(${settings}, AbortSignal.timeout(60_000));`,
    );

    const modesOf = (names: readonly string[]) => names.map((name) => statSync(join(folder, name)).mode & 0o777);
    expect(modesOf(folders)).toEqual(folders.map(() => 0o700));
    expect(modesOf(files)).toEqual(files.map(() => 0o600));
    expect(readFileSync(join(folder, 'access/redis/redis.conf'), 'utf8')).toContain('user sandbox-manager on #');
  }, 90_000);

  test('a process that a killed launcher left behind is ended, another process with its pid is not', async () => {
    const left = spawn('sleep', ['1000']);
    const fields = readFileSync(`/proc/${left.pid}/stat`, 'utf8').split(' ');
    const children = [
      { name: 'left', pid: left.pid, startedAt: fields[21] },
      { name: 'stranger', pid: process.pid, startedAt: '1' },
    ];
    writeFileSync(join(folder, 'pids.json'), JSON.stringify(children));
    const ended = new Promise((resolve) => left.once('exit', (_code, signal) => resolve(signal)));

    await runModule(`${claim(folder)} claimed.release();`);

    expect(await ended).toBe('SIGTERM');
  });
});

describe('ManagedProcess', () => {
  const plan = (script: string) => `
    import { ManagedProcess } from './processes/managed-process.mjs';
    const managed = new ManagedProcess({
      name: 'child', file: process.execPath, args: ['-e', ${JSON.stringify(script)}], env: process.env, cwd: '.',
      setpriv: undefined, quiet: true, ipc: true, readyTimeoutMs: 20_000, onChange: () => {},
      untilReady: (child) => new Promise((resolve) => child.once('message', resolve)),
    });
    const forever = new AbortController().signal;`;
  const ready = "process.send('ready'); setInterval(() => {}, 1000);";

  test('a process that ends before it is ready fails the start with its last output', async () => {
    const script = "console.error('no such database'); process.exit(7);";

    const { stdout } = await runModule(
      `${plan(script)} await managed.start(forever).catch((error) => console.log(error.message));`,
    );

    expect(stdout).toContain('child ended with exit code 7 before it was ready.\n    no such database');
  });

  test('a process that crashes later is started again, and stop() is final', async () => {
    const script = `${plan(ready)}
      await managed.start(forever);
      const first = managed.running().pid;
      process.kill(first, 'SIGKILL');
      while ((managed.running()?.pid ?? first) === first) await new Promise((resolve) => setTimeout(resolve, 20));
      await managed.stop(5000);
      console.log('running after stop:', managed.running());`;

    const { stdout, stderr } = await runModule(script);

    expect(stderr).toContain('child ended by SIGKILL; starting it again in 0.5 s');
    expect(stdout).toContain('running after stop: undefined');
  });

  test('a process that ignores SIGTERM is killed with its group at the deadline', async () => {
    const deaf = `process.on('SIGTERM', () => {}); ${ready}`;

    const { stdout, stderr } = await runModule(
      `${plan(deaf)} await managed.start(forever); await managed.stop(300); console.log('stopped');`,
    );

    expect(stderr).toContain('child did not stop within 0.3 s and is killed');
    expect(stdout).toContain('stopped');
  });
});

describe('gvisorRuntime', () => {
  const argumentsOf = async (folder: string, programs: string) => {
    const options = JSON.stringify({ path: programs, folder, configFile: join(folder, 'daemon.json') });
    const { stdout } = await runModule(
      `import { gvisorRuntime } from './machine/gvisor-runtime.mjs'; console.log(JSON.stringify(gvisorRuntime(${options})));`,
    );
    return JSON.parse(stdout) as string[];
  };

  test('an installed runsc is registered with the flags for sandboxes, unless the engine has its own runtimes', async () => {
    const folder = mkdtempSync(join(tmpdir(), "caribou-launcher-it's-"));
    const programs = join(folder, 'programs');
    expect(await argumentsOf(folder, programs)).toEqual([]);

    mkdirSync(programs);
    writeFileSync(join(programs, 'runsc'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
    expect(await argumentsOf(folder, programs)).toEqual([`--add-runtime=runsc=${folder}/runsc`]);
    expect(spawnSync(join(folder, 'runsc'), ['run', 'a box'], { encoding: 'utf8' }).stdout).toBe(
      '--network=none --host-uds=open run a box\n',
    );

    writeFileSync(join(folder, 'daemon.json'), '{"runtimes": {}}');
    expect(await argumentsOf(folder, programs)).toEqual([]);
    rmSync(folder, { recursive: true, force: true });
  });
});

describe('closingLine', () => {
  test('a file that failed without a failing test counts as one failure, and so does a missing report', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'caribou-launcher-'));
    const report = join(folder, 'jest.json');
    const testResults = [
      { status: 'failed', assertionResults: [] },
      { status: 'failed', assertionResults: [{ status: 'failed' }, { status: 'passed' }] },
    ];
    writeFileSync(
      report,
      JSON.stringify({ numPassedTests: 1, numFailedTests: 1, numPendingTests: 3, numTodoTests: 0, testResults }),
    );
    const lines = [report, join(folder, 'none')].map(
      (file) => `console.log(closingLine(readJestCounts(${JSON.stringify(file)})));`,
    );

    const { stdout } = await runModule(
      `import { closingLine, readJestCounts } from './jest-summary.mjs'; ${lines.join(' ')}`,
    );

    expect(stdout).toBe('1 passed, 2 failed\n0 passed, 1 failed\n');
    rmSync(folder, { recursive: true, force: true });
  });
});

describe('npm start', () => {
  test('an invalid setting is reported by name before anything runs, and no process is left running', () => {
    const home = mkdtempSync(join(tmpdir(), 'caribou-launcher-'));

    const { status, stderr } = spawnSync(process.execPath, ['start.mjs'], {
      cwd: __dirname,
      encoding: 'utf8',
      env: { ...process.env, CARIBOU_HOME: home, PORT: 'many' },
      timeout: 60_000,
    });

    expect(status).toBe(1);
    expect(stderr).toContain('PORT: must be a port number');
    expect(existsSync(join(home, 'servers', 'pids.json'))).toBe(false);
    rmSync(home, { recursive: true, force: true });
  }, 90_000);
});
