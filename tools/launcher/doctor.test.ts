import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

describe('npm run doctor', () => {
  let home = '';
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'caribou-doctor-run-'));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  function doctor(yaml: string, env: Readonly<Record<string, string>> = {}) {
    writeFileSync(join(home, 'config.yaml'), yaml);
    const own = {
      CARIBOU_HOME: home,
      CARIBOU_RUN_DIR: join(home, 'run'),
      CARIBOU_CONFIG: join(home, 'config.yaml'),
      PORT: '0',
      NATS_URL: '',
      REDIS_URL: '',
    };
    return spawnSync(process.execPath, ['doctor.mjs'], {
      cwd: __dirname,
      encoding: 'utf8',
      env: { ...process.env, OPENAI_API_KEY: '', OPENAI_BASE_URL: '', ...own, ...env },
      timeout: 90_000,
    });
  }

  test('a working installation ends with 0, and own code is loaded', () => {
    const tickets = resolve(__dirname, '../../examples/custom-tool/tickets.mjs');
    const options = 'url: "https://helpdesk.example", api_key: $HELPDESK_KEY';
    const yaml = `sandbox: {driver: bwrap}\ntools: [{name: open_ticket, use: "${tickets}#openTicket", ${options}}]`;

    const { status, stdout } = doctor(yaml, { HELPDESK_KEY: 'secret-1' });

    expect(stdout).toMatch(/^ok +your code +0 middlewares, 1 tools and 0 models load$/m);
    expect(stdout).toMatch(/\d+ ok, 1 warnings, 0 failures\n$/);
    expect(stdout).not.toContain('secret-1');
    expect(status).toBe(0);
  }, 120_000);

  test('one failure ends with 1, after all lines', () => {
    const { status, stdout } = doctor('sandbox: {driver: bwrap}\ntools: [{name: a, use: "./none.mjs#a"}]');

    expect(stdout).toMatch(
      /^fail +your code +tools\[0\] \(.*none\.mjs#a\): there is no file .*\n +→ correct the entry/m,
    );
    expect(stdout).toMatch(/^ok +data/m);
    expect(status).toBe(1);
  }, 120_000);

  test('an invalid configuration is reported key by key', () => {
    const { status, stdout } = doctor('runner: {slots: many}', { PORT: 'many' });

    expect(stdout).toMatch(/^fail +config +PORT: must be a port number/m);
    expect(stdout).toMatch(/^fail +config +runner\.slots: /m);
    expect(status).toBe(1);
  }, 120_000);
});
