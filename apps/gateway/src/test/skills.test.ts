import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { zipFile } from '@caribou/testing';
import { ZipFile } from 'yazl';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const MiB = 1024 * 1024;
const skillFile = (name: string, more = ''): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n${more}---\n# How\n`;

const fixture = useGateways({ appendonly: false });
let gateway: OpenGateway;
let second: OpenGateway;

const KEYS = { one: 'key-of-user-one', two: 'key-of-user-two' };
const userFile = (user: string, ...path: readonly string[]): string => join(fixture.home, 'users', user, ...path);
const outputs = (name: string): string => userFile('one', 'threads/t1/user-data/outputs', name);
const installedOf = (user: string): readonly string[] =>
  existsSync(userFile(user, 'skills/installed')) ? readdirSync(userFile(user, 'skills/installed')) : [];
const stagingOf = (user: string): readonly string[] =>
  existsSync(userFile(user, 'skills/staging')) ? readdirSync(userFile(user, 'skills/staging')) : [];

interface Answer {
  readonly status: number;
  readonly body: unknown;
}
interface Asked {
  readonly user?: keyof typeof KEYS;
  readonly at?: OpenGateway;
  readonly body?: object;
}

async function ask(method: 'GET' | 'PUT' | 'POST' | 'DELETE', url: string, asked: Asked = {}): Promise<Answer> {
  const { user = 'one', at = gateway, body } = asked;
  const headers = { 'x-api-key': KEYS[user] };
  const reply = await at.app.inject({
    method,
    url: `/api${url}`,
    headers,
    ...(body === undefined ? {} : { payload: body }),
  });
  return { status: reply.statusCode, body: reply.json<unknown>() };
}

const install = (name: string, asked: Asked & { readonly thread?: string } = {}): Promise<Answer> =>
  ask('POST', '/skills/install', {
    ...asked,
    body: { thread_id: asked.thread ?? 't1', path: name.startsWith('/') ? name : `/mnt/user-data/outputs/${name}` },
  });
const write = (name: string, content: Uint8Array | string): void => writeFileSync(outputs(name), content);
async function put(name: string, parts: Readonly<Record<string, string | Buffer>>): Promise<void> {
  write(name, await zipFile(parts));
}

beforeAll(async () => {
  const { folder } = fixture;
  mkdirSync(join(folder, 'folder/public/deep/chart'), { recursive: true });
  writeFileSync(join(folder, 'folder/public/deep/chart/SKILL.md'), skillFile('chart', 'license: MIT\n'));
  mkdirSync(join(folder, 'folder/custom/house'), { recursive: true });
  writeFileSync(join(folder, 'folder/custom/house/SKILL.md'), skillFile('house-style'));
  writeFileSync(join(folder, 'extensions.json'), '{"skills":{"house-style":{"enabled":false}}}');
  mkdirSync(outputs('.'), { recursive: true });
  const config = 'skills: {path: folder, max_installed: 3, max_installed_bytes: 3000000}\n';
  const env = {
    CARIBOU_EXTENSIONS_CONFIG: join(folder, 'extensions.json'),
    CARIBOU_API_KEYS: `${KEYS.one}:one,${KEYS.two}:two`,
  };
  gateway = await fixture.open({ config, env });
  second = await fixture.open({ config, env });
});
afterEach(() => expect(fixture.faults.splice(0)).toEqual([]));

describe('GET and PUT of skills', () => {
  const chart = {
    name: 'chart',
    description: 'Does chart.',
    license: 'MIT',
    category: 'public',
    enabled: true,
    editable: false,
  };
  const house = { ...chart, name: 'house-style', description: 'Does house-style.', license: null, category: 'custom' };

  test('the list and each one, with the operator’s switches', async () => {
    const skills = [chart, { ...house, enabled: false }];
    expect(await ask('GET', '/skills')).toEqual({ status: 200, body: { skills } });
    expect(await ask('GET', '/langgraph/skills')).toEqual({ status: 200, body: { skills } });
    expect(await ask('GET', '/skills/chart')).toEqual({ status: 200, body: chart });
    for (const name of ['none', 'Chart', '..', '%2e%2e%2fchart', 'a'.repeat(200)])
      expect((await ask('GET', `/skills/${name}`)).status).toBe(404);
  });

  test('a switch holds for the caller, at every gateway, over the operator’s', async () => {
    expect(await ask('PUT', '/skills/house-style', { body: { enabled: true } })).toEqual({ status: 200, body: house });
    expect(await ask('PUT', '/skills/chart', { body: { enabled: false } })).toEqual({
      status: 200,
      body: { ...chart, enabled: false },
    });
    expect((await ask('GET', '/skills', { at: second })).body).toEqual({
      skills: [{ ...chart, enabled: false }, house],
    });
    expect((await ask('GET', '/skills/chart', { user: 'two' })).body).toEqual(chart);
    await ask('PUT', '/skills/chart', { body: { enabled: true } });
    expect((await ask('GET', '/skills/chart')).body).toEqual(chart);
  });

  test('what is no switch, or of no skill, changes nothing', async () => {
    expect((await ask('PUT', '/skills/none', { body: { enabled: true } })).status).toBe(404);
    for (const body of [{}, { enabled: 'no' }, { enabled: null }])
      expect((await ask('PUT', '/skills/chart', { body })).status).toBe(422);
  });
});

describe('POST /skills/install', () => {
  const INSTALLED = { success: true, skill_name: 'x', message: "Skill 'x' installed successfully" };

  test('installs for the caller: listed at every gateway, for nobody else', async () => {
    await put('x.skill', { 'x/SKILL.md': skillFile('x', 'allowed-tools: [bash]\n'), 'x/scripts/a.py': 'print(1)' });
    expect(await install('x.skill')).toEqual({ status: 200, body: INSTALLED });
    expect((await ask('GET', '/skills/x', { at: second })).body).toEqual({
      name: 'x',
      description: 'Does x.',
      license: null,
      category: 'custom',
      enabled: true,
      editable: true,
    });
    expect((await ask('GET', '/skills/x', { user: 'two' })).status).toBe(404);
    expect(installedOf('one')).toHaveLength(1);
    expect(stagingOf('one')).toEqual([]);
  });

  test('repeated with the same files it answers as before and changes nothing, also by another archive', async () => {
    const before = [installedOf('one'), (await ask('PUT', '/skills/x', { body: { enabled: false } })).body];
    await put('again.skill', { 'scripts/a.py': 'print(1)', 'SKILL.md': skillFile('x', 'allowed-tools: [bash]\n') });
    for (const archive of ['x.skill', 'again.skill'])
      expect(await install(archive, { at: second })).toEqual({ status: 200, body: INSTALLED });
    expect([installedOf('one'), (await ask('GET', '/skills/x')).body]).toEqual(before);
    expect(stagingOf('one')).toEqual([]);
    await ask('PUT', '/skills/x', { body: { enabled: true } });
  });

  test('other files under its name are refused', async () => {
    await put('other.skill', { 'SKILL.md': skillFile('x', 'allowed-tools: [bash]\n'), 'scripts/a.py': 'print(2)' });
    expect(await install('other.skill')).toEqual({ status: 409, body: { detail: "Skill 'x' already exists" } });
  });

  test('a name of the folder’s skills is taken too', async () => {
    await put('chart.skill', { 'SKILL.md': skillFile('chart') });
    expect((await install('chart.skill')).status).toBe(409);
  });

  test('of several at once one gets the name; those with the same files are told so too', async () => {
    await put('race.skill', { 'SKILL.md': skillFile('race') });
    await put('rival.skill', { 'SKILL.md': skillFile('race', 'license: MIT\n') });
    const asked = [gateway, second].flatMap((at) => ['race.skill', 'rival.skill'].map((name) => install(name, { at })));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    const { license } = (await ask('GET', '/skills/race')).body as { license: string | null };
    expect(statuses).toEqual(license === null ? [200, 409, 200, 409] : [409, 200, 409, 200]);
    expect(installedOf('one')).toHaveLength(2);
    expect((await ask('DELETE', '/skills/race')).status).toBe(200);
  });

  test.each([
    ['/mnt/user-data/outputs/../../x.skill', 403, /^Access denied/],
    ['/mnt/user-data/outputs/..\\x.skill', 403, /^Access denied/],
    ['/etc/passwd', 400, /must start with \/mnt\/user-data/],
    ['/mnt/skills/x.skill', 400, /must start with/],
    ['/mnt/user-data/other/x.skill', 400, /must be in/],
    ['/mnt/user-data/outputs/a\u0000.skill', 400, /control characters/],
    ['missing.skill', 404, /^Skill file not found: \/mnt/],
  ])('path %j', async (path, status, detail) => {
    const answer = await install(path);
    expect(answer).toEqual({ status, body: { detail: expect.stringMatching(detail) } });
  });

  test('a path without a slash in front is taken as one with it', async () => {
    const body = { thread_id: 't1', path: 'mnt/user-data/outputs/chart.skill' };
    expect((await ask('POST', '/skills/install', { body })).status).toBe(409);
  });

  test('another user’s thread, and one that is not there, have no such file', async () => {
    expect((await install('x.skill', { user: 'two' })).status).toBe(404);
    expect((await install('x.skill', { thread: 't2' })).status).toBe(404);
    expect((await install('x.skill', { thread: '../t1' })).status).toBe(422);
  });

  test('a directory, another suffix, a link, and what is no archive', async () => {
    mkdirSync(outputs('folder.skill'));
    expect((await install('folder.skill')).status).toBe(400);
    await put('x.zip', { 'SKILL.md': skillFile('zip') });
    expect(await install('x.zip')).toEqual({ status: 400, body: { detail: 'File must have .skill extension' } });
    symlinkSync(outputs('x.skill'), outputs('link.skill'));
    expect((await install('link.skill')).status).toBe(403);
    write('text.skill', 'no archive at all');
    expect(await install('text.skill')).toEqual({ status: 400, body: { detail: 'the file is not a ZIP archive' } });
    write('empty.skill', '');
    expect((await install('empty.skill')).status).toBe(400);
  });

  const attacks: readonly (readonly [string, RegExp, () => Promise<Buffer>])[] = [
    ['a traversal', /unsafe member path/, () => renamed('aa/evil', '../evil')],
    ['an absolute path', /unsafe member path/, () => renamed('a-evil', '/evil!')],
    ['a Windows path', /unsafe member path/, () => renamed('aaa/evil', 'C:\\evil!')],
    ['a bomb', /unpacks to more than/, () => bomb()],
    ['a symbolic link', /symbolic link/, () => withMode('etc', '/etc', 0o120777)],
    ['a name twice', /the member is a duplicate/, () => twice()],
    [
      'a skill within',
      /a skill within the skill/,
      () => zipFile({ 'SKILL.md': skillFile('y'), 'in/SKILL.md': skillFile('z') }),
    ],
    ['a program', /compiled program/, () => withMode('run', Buffer.from('7f454c46020101', 'hex'), 0o100755)],
    ['nothing', /empty/, () => zipFile({ '.hidden': 'x', '__MACOSX/x': 'x' })],
    ['no SKILL.md', /^Invalid skill: SKILL\.md not found/, () => zipFile({ 'a/x': 'x', 'b/y': 'y' })],
    ['no front matter', /^Invalid skill: /, () => zipFile({ 'SKILL.md': '# How' })],
    ['a bad name', /^Invalid skill: .*name/, () => zipFile({ 'SKILL.md': skillFile('../evil') })],
    ['a stranger', /^Invalid skill: Unexpected key\(s\)/, () => zipFile({ 'SKILL.md': skillFile('y', 'hooks: x\n') })],
  ];
  test.each(attacks)('an archive with %s is 400, and leaves nothing', async (_, detail, archive) => {
    const before = [installedOf('one'), (await ask('GET', '/skills')).body];
    write('evil.skill', await archive());
    expect(await install('evil.skill')).toEqual({ status: 400, body: { detail: expect.stringMatching(detail) } });
    expect([installedOf('one'), (await ask('GET', '/skills')).body]).toEqual(before);
    expect(stagingOf('one')).toEqual([]);
    expect(existsSync(userFile('one', 'skills/evil'))).toBe(false);
  });

  test('no more skills, and no more bytes, than the user may have', async () => {
    await put('large.skill', { 'SKILL.md': skillFile('large'), data: Buffer.alloc(3 * MiB, 'x').toString() });
    expect(await install('large.skill')).toEqual({
      status: 413,
      body: { detail: 'a user may have 3 skills with 3000000 bytes in all' },
    });
    for (const name of ['s2', 's3', 's4']) await put(`${name}.skill`, { 'SKILL.md': skillFile(name) });
    expect((await install('s2.skill')).status).toBe(200);
    expect((await install('s3.skill')).status).toBe(200);
    expect((await install('s4.skill')).status).toBe(413);
    expect(installedOf('one')).toHaveLength(3);
  });

  test('a body that is none is 422', async () => {
    for (const body of [{}, { thread_id: 't1' }, { thread_id: 't1', path: '' }, { thread_id: 1, path: 'x' }])
      expect((await ask('POST', '/skills/install', { body })).status).toBe(422);
  });
});

describe('DELETE of skills', () => {
  test('takes an installed one with its files, once; others are only switched off', async () => {
    const [before] = [installedOf('one').length];
    await ask('PUT', '/skills/x', { body: { enabled: false } });
    expect(await ask('DELETE', '/skills/x', { user: 'two' })).toEqual({
      status: 404,
      body: { detail: "Skill 'x' not found" },
    });
    expect(await ask('DELETE', '/skills/x')).toEqual({
      status: 200,
      body: { success: true, message: "Skill 'x' deleted" },
    });
    expect(installedOf('one')).toHaveLength(before - 1);
    expect((await ask('DELETE', '/skills/x')).status).toBe(404);
    expect((await ask('DELETE', '/skills/chart')).status).toBe(403);
    expect((await install('x.skill')).status).toBe(200);
    expect((await ask('GET', '/skills/x')).body).toMatchObject({ enabled: true });
  });
});

async function renamed(from: string, to: string): Promise<Buffer> {
  const archive = await zipFile({ 'SKILL.md': skillFile('y'), [from]: 'evil' });
  return Buffer.from(archive.toString('latin1').replaceAll(from, to), 'latin1');
}

async function bomb(): Promise<Buffer> {
  const archive = await zipFile({ 'SKILL.md': skillFile('y'), a: 'x' });
  archive.writeUInt32LE(600 * MiB, archive.lastIndexOf(Buffer.from('PK\u0001\u0002', 'latin1')) + 24);
  return archive;
}

async function withMode(name: string, content: string | Buffer, mode: number): Promise<Buffer> {
  const file = new ZipFile();
  file.addBuffer(Buffer.from(skillFile('y')), 'SKILL.md');
  file.addBuffer(Buffer.from(content), name, { mode });
  file.end();
  return buffer(file.outputStream);
}

async function twice(): Promise<Buffer> {
  const file = new ZipFile();
  for (const name of ['SKILL.md', 'a', 'a']) file.addBuffer(Buffer.from(skillFile('y')), name);
  file.end();
  return buffer(file.outputStream);
}
