import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger, type SkillStore, systemClock } from '@caribou/core';
import { objectTreeStore, SkillCache, SkillImports, SkillViews } from '@caribou/files';
import { openObjectStore } from '@caribou/objects';
import { redisSkills } from '@caribou/state';
import { waitFor, zipFile } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const USER = 'one';
const HEADERS = { 'x-api-key': 'key-of-user-one' };
const skillFile = (name: string): string => `---\nname: ${name}\ndescription: Does ${name}.\n---\n# How\n`;

const fixture = useGateways({ appendonly: false });
const objects = (): string => join(fixture.folder, 'objects');
const skillsOf = (home: string, ...path: readonly string[]): string => join(home, 'users', USER, 'skills', ...path);
const listed = (path: string): readonly string[] => (existsSync(path) ? readdirSync(path) : []);

let stored: OpenGateway;
let onVolume: OpenGateway;
let broken: OpenGateway;
let records: SkillStore;

beforeAll(async () => {
  mkdirSync(fixture.folder, { recursive: true });
  writeFileSync(join(fixture.folder, 'no-folder'), '');
  const env = { CARIBOU_API_KEYS: `${HEADERS['x-api-key']}:${USER}` };
  const withStore = (path: string) => fixture.open({ config: `files: {store: {folder: {path: '${path}'}}}\n`, env });
  onVolume = await fixture.open({ env });
  stored = await withStore(objects());
  broken = await withStore(join(fixture.folder, 'no-folder', 'objects'));
  records = redisSkills(fixture.connectRedis());
});

const ask = async (at: OpenGateway, method: 'GET' | 'DELETE', path = '') =>
  at.app.inject({ method, url: `/api/skills${path}`, headers: HEADERS });

/** Uploads an archive with the skill and installs it; at another gateway, if that is said. */
async function install(name: string, at: OpenGateway, { uploadedAt = at, script = 'print(1)' } = {}) {
  const archive = await zipFile({ 'SKILL.md': skillFile(name), 'scripts/a.py': script });
  const head = `--b\r\nContent-Disposition: form-data; name="files"; filename="${name}.skill"\r\n\r\n`;
  const headers = { ...HEADERS, 'content-type': 'multipart/form-data; boundary=b' };
  const payload = Buffer.concat([Buffer.from(head), archive, Buffer.from('\r\n--b--\r\n')]);
  await uploadedAt.app.inject({ method: 'POST', url: '/api/threads/t1/uploads', headers, payload });
  const body = { thread_id: 't1', path: `/mnt/user-data/uploads/${name}.skill` };
  return at.app.inject({ method: 'POST', url: '/api/skills/install', headers: HEADERS, payload: body });
}

/** The mount of a sandbox on another machine, which has nothing but the object store and Redis. */
async function mountElsewhere(name: string): Promise<string> {
  const homeDir = join(fixture.folder, `home-${name}`);
  mkdirSync(homeDir, { mode: 0o700 });
  const folder = { path: objects(), isDurable: false, timeoutMs: 10_000 };
  const trees = objectTreeStore(openObjectStore({ kind: 'folder', folder }, silentLogger));
  const shared = { homeDir, trees, clock: systemClock, logger: silentLogger };
  const imports = new SkillImports({ ...shared, records });
  const cache = new SkillCache({ ...shared, imports, minFreeBytes: 0, maxWaitMs: 30_000 });
  const skill = (await records.read(USER)).installed.find((one) => one.name === name);
  if (skill === undefined) throw new Error(`there is no skill ${name}`);
  const { id, bytes, manifest = '' } = skill;
  const source = { kind: 'installed' as const, id, bytes, manifest };
  const packages = await cache.provide(USER, [{ skill: { name }, place: ['custom', name], source }]);
  const { directory } = await new SkillViews(homeDir).mount(USER, packages);
  return join(directory, 'custom', name);
}

describe('skills with the section files', () => {
  test('an installed one is in the object store, named by its record, and mounted on another machine', async () => {
    const answer = await install('x', stored);
    expect([answer.statusCode, answer.json()]).toEqual([
      200,
      { success: true, skill_name: 'x', message: "Skill 'x' installed successfully" },
    ]);
    const { installed } = await records.read(USER);
    expect(installed).toMatchObject([{ name: 'x', manifest: expect.stringMatching(/^trees\/one\//) }]);
    expect(await records.manifestsOf(USER)).toEqual([installed[0]?.manifest]);
    for (const name of ['installed', 'fetched', 'staging']) expect(listed(skillsOf(fixture.home, name))).toEqual([]);
    const directory = await mountElsewhere('x');
    expect(readFileSync(join(directory, 'SKILL.md'), 'utf8')).toBe(skillFile('x'));
    expect(readFileSync(join(directory, 'scripts/a.py'), 'utf8')).toBe('print(1)');
  });

  test('installed again with the same files it stays as it is; other files under its name are refused', async () => {
    const before = await records.read(USER);
    const again = await install('x', stored);
    expect([again.statusCode, again.json<object>()]).toEqual([200, expect.objectContaining({ skill_name: 'x' })]);
    expect((await install('x', stored, { script: 'print(2)' })).statusCode).toBe(409);
    expect(await records.read(USER)).toEqual(before);
  });

  test('a removed one is no longer named by a record', async () => {
    expect((await install('y', stored)).statusCode).toBe(200);
    const [before, removed] = [await records.manifestsOf(USER), await ask(stored, 'DELETE', '/y')];
    expect(removed.statusCode).toBe(200);
    expect(before.length - (await records.manifestsOf(USER)).length).toBe(1);
    expect((await ask(stored, 'GET', '/y')).statusCode).toBe(404);
  });

  test('an install that the store refuses is an error, installs nothing and can be repeated', async () => {
    const answer = await install('z', broken, { uploadedAt: stored });
    expect(answer.statusCode).toBe(503);
    expect((await ask(stored, 'GET', '/z')).statusCode).toBe(404);
    expect(listed(skillsOf(fixture.home, 'staging'))).toEqual([]);
    expect((await install('z', stored)).statusCode).toBe(200);
  });

  test('one that was installed on the data volume before is brought into the store when skills are listed', async () => {
    expect((await install('old', onVolume)).statusCode).toBe(200);
    const recordOf = async () => (await records.read(USER)).installed.find(({ name }) => name === 'old');
    const before = await recordOf();
    expect(before).not.toHaveProperty('manifest');
    expect(listed(skillsOf(fixture.home, 'installed'))).toEqual([before?.id]);
    expect((await install('old', stored)).statusCode).toBe(200);
    expect((await ask(stored, 'GET')).statusCode).toBe(200);
    await waitFor(async () => (await recordOf())?.manifest, { what: 'the import of the skill' });
    expect((await install('old', stored)).statusCode).toBe(200);
    const directory = await mountElsewhere('old');
    expect(readFileSync(join(directory, 'SKILL.md'), 'utf8')).toBe(skillFile('old'));
  });
});
