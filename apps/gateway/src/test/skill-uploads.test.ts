import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { zipFile } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { FORM } from '../testing/file-client.js';
import { useGateways } from '../testing/gateway-fixture.js';

const BOUNDARY = FORM['content-type'].replace(/.*boundary=/, '');
const skillFile = (name: string, more = ''): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n${more}---\n# How\n`;

const fixture = useGateways({ appendonly: false });
let gateway: OpenGateway;
let second: OpenGateway;

interface Sent {
  readonly field?: string;
  readonly name?: string;
  readonly key?: string;
  readonly at?: OpenGateway;
  readonly headers?: Record<string, string>;
}

async function upload(archive: Buffer | null, { field = 'file', name = 'x.skill', ...sent }: Sent = {}) {
  const { key = 'key-of-one', at = gateway, headers = FORM } = sent;
  const head =
    archive === null
      ? ''
      : `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${field}"; filename="${name}"\r\n` +
        'Content-Type: application/octet-stream\r\n\r\n';
  const payload = Buffer.concat([
    Buffer.from(head),
    archive ?? Buffer.alloc(0),
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);
  const reply = await at.app.inject({
    method: 'POST',
    url: '/api/skills/upload',
    headers: { 'x-api-key': key, ...headers },
    payload,
  });
  return { status: reply.statusCode, body: reply.json<unknown>() };
}

async function skillsOf(key: string, at = gateway): Promise<readonly string[]> {
  const reply = await at.app.inject({ url: '/api/skills', headers: { 'x-api-key': key } });
  return reply
    .json<{ skills: { name: string; editable: boolean }[] }>()
    .skills.flatMap(({ name, editable }) => (editable ? [name] : []));
}

const stagingOf = (user: string): readonly string[] => {
  const folder = join(fixture.home, 'users', user, 'skills', 'staging');
  return existsSync(folder) ? readdirSync(folder) : [];
};

beforeAll(async () => {
  const options = {
    config: 'skills: {max_installed: 2}\nuploads: {max_file_size: 100000}\n',
    env: { CARIBOU_API_KEYS: 'key-of-one:one,key-of-two:two' },
  };
  [gateway, second] = [await fixture.open(options), await fixture.open(options)];
});
afterEach(() => {
  expect(fixture.faults.splice(0)).toEqual([]);
  expect([stagingOf('one'), stagingOf('two')]).toEqual([[], []]);
});

describe('POST /skills/upload', () => {
  test('installs for the caller, at every gateway; a repetition answers as before, other files are refused', async () => {
    const archive = await zipFile({ 'x/SKILL.md': skillFile('x'), 'x/run.py': 'print(1)' });
    const installed = { success: true, skill_name: 'x', message: "Skill 'x' installed successfully" };

    expect(await upload(archive)).toEqual({ status: 200, body: installed });
    expect([await skillsOf('key-of-one', second), await skillsOf('key-of-two')]).toEqual([['x'], []]);
    expect(await upload(archive, { at: second })).toEqual({ status: 200, body: installed });
    const other = await zipFile({ 'SKILL.md': skillFile('x'), 'run.py': 'print(2)' });
    expect(await upload(other)).toEqual({ status: 409, body: { detail: "Skill 'x' already exists" } });
  });

  const refused: readonly (readonly [string, () => Buffer | null | Promise<Buffer>, Sent, number, RegExp])[] = [
    ['no ZIP archive', () => Buffer.from('text'), {}, 400, /^the file is not a ZIP archive$/],
    ['an invalid SKILL.md', () => zipFile({ 'SKILL.md': '# How' }), {}, 400, /^Invalid skill: /],
    ['another name', () => zipFile({ 'SKILL.md': skillFile('y') }), { name: 'y.zip' }, 400, /must end in \.skill/],
    ['another field', () => zipFile({ 'SKILL.md': skillFile('y') }), { field: 'files' }, 400, /field "file"/],
    ['no file', () => null, {}, 400, /no file in the field "file"/],
    ['too many bytes', () => Buffer.alloc(100_001), {}, 413, /^file: .* larger than 100000 bytes$/],
    ['JSON', () => null, { headers: { 'content-type': 'application/json' } }, 415, /multipart\/form-data/],
  ];
  test.each(refused)('%s is refused and installs nothing', async (_, archive, sent, status, detail) => {
    const before = await skillsOf('key-of-one');

    expect(await upload(await archive(), sent)).toEqual({ status, body: { detail: expect.stringMatching(detail) } });
    expect(await skillsOf('key-of-one')).toEqual(before);
  });

  test('the limits of a user hold, and one upload of a user at a time is received', async () => {
    const archives = await Promise.all(['a', 'b', 'c'].map((name) => zipFile({ 'SKILL.md': skillFile(name) })));
    const [a, b, c] = archives as [Buffer, Buffer, Buffer];
    const both = await Promise.all([upload(a, { key: 'key-of-two' }), upload(b, { key: 'key-of-two' })]);
    expect(both.map(({ status }) => status).sort((one, other) => one - other)).toEqual([200, 429]);
    await upload(a, { key: 'key-of-two' });
    await upload(b, { key: 'key-of-two' });

    expect((await upload(c, { key: 'key-of-two' })).status).toBe(413);
    expect(await skillsOf('key-of-two')).toEqual(['a', 'b']);
  });

  test('without a key nothing is received', async () => {
    expect((await upload(Buffer.from('x'), { key: 'wrong' })).status).toBe(401);
  });
});
