import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'caribou-lab-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** The command line of the lab with a folder of its own: what it prints, and its exit code. */
async function lab(args: readonly string[], files = folder): Promise<{ code: number; output: string }> {
  const env = { ...process.env, CARIBOU_KUBERNETES_LAB: files };
  try {
    const { stdout, stderr } = await run(process.execPath, [join(__dirname, 'main.mjs'), ...args], { env });
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: stdout + stderr };
  }
}

describe('the command line of the lab', () => {
  test('without a command it shows its usage', async () => {
    const { code, output } = await lab([]);

    expect(code).toBe(1);
    expect(output).toContain('up [--nodes 1]');
  });

  test.each(['0', '5', '1.5', 'many'])(
    '%s nodes are refused with the limit, before anything is built',
    async (nodes) => {
      const { code, output } = await lab(['up', '--nodes', nodes]);

      expect(code).toBe(1);
      expect(output).toContain('--nodes must be a whole number from 1 to 4');
    },
  );

  test('a folder that each machine of the lab replaces is refused with a way out', async () => {
    const { code, output } = await lab(['up'], '/var/lib/caribou-lab');

    expect(code).toBe(1);
    expect(output).toContain('/var/lib/caribou-lab is below /var/lib/: name another folder by CARIBOU_KUBERNETES_LAB');
  });

  test('an unknown program of the control plane is refused with the known ones', async () => {
    mkdirSync(join(folder, 'run'));
    const machine = {
      name: 'control',
      files: folder,
      outer: { pid: process.pid, startedAt: startOf(process.pid) },
      pid: 1,
    };
    const state = { control: machine, nodes: [], groups: [], kernel: {} };
    writeFileSync(join(folder, 'run', 'state.json'), JSON.stringify(state));

    const { code, output } = await lab(['stop', 'kubelet']);

    expect(code).toBe(1);
    expect(output).toContain('PROGRAM must be one of etcd, kube-apiserver');
  });

  test('status says when no lab runs, and down then has nothing to do', async () => {
    await expect(lab(['status'])).resolves.toMatchObject({
      code: 1,
      output: expect.stringContaining('No lab runs here.'),
    });
    await expect(lab(['down'])).resolves.toMatchObject({ code: 0 });
  });
});

const startOf = (pid: number): string => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
};

describe('writeArchive', () => {
  test('packs images that share a layer with that layer once', async () => {
    mkdirSync(join(folder, 'base'));
    writeFileSync(join(folder, 'base', 'hello'), 'world');
    const code = `import { packLayer, writeArchive } from '../images/archive.mjs';
      const layer = await packLayer(${JSON.stringify(join(folder, 'base'))}, ${JSON.stringify(join(folder, 'base.tar'))});
      const image = (name) => ({ name, layers: [layer], config: { Cmd: [name] } });
      await writeArchive(${JSON.stringify(join(folder, 'all.tar'))}, [image('one:1'), image('two:1')]);`;
    await run(process.execPath, ['--input-type=module', '-e', code], { cwd: __dirname });

    const digest = createHash('sha256')
      .update(readFileSync(join(folder, 'base.tar')))
      .digest('hex');
    const { stdout: names } = await run('tar', ['-tf', join(folder, 'all.tar')]);
    const { stdout: manifest } = await run('tar', ['-xOf', join(folder, 'all.tar'), 'manifest.json']);

    expect(names.split('\n').filter((name) => name.endsWith('.tar'))).toEqual([`${digest}.tar`]);
    expect(JSON.parse(manifest)).toEqual([
      expect.objectContaining({ RepoTags: ['one:1'], Layers: [`${digest}.tar`] }),
      expect.objectContaining({ RepoTags: ['two:1'], Layers: [`${digest}.tar`] }),
    ]);
  });
});
