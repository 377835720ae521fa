import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { zipFile } from '@caribou/testing';
import { ZipFile } from 'yazl';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const fixture = useGateways({ appendonly: false });
let gateway: OpenGateway;

const outputs = (): string => join(fixture.home, 'users/default/threads/art/user-data/outputs');
const write = (name: string, content: string | Uint8Array): void => writeFileSync(join(outputs(), name), content);
const get = (path: string, headers: Readonly<Record<string, string>> = {}, method: 'GET' | 'HEAD' = 'GET') =>
  gateway.app.inject({ method, url: `/api/threads/art/artifacts/mnt/user-data/outputs/${path}`, headers });
const statusOf = async (path: string): Promise<number> => (await get(path)).statusCode;

beforeAll(async () => {
  gateway = await fixture.open();
  mkdirSync(outputs(), { recursive: true });
  write(
    'x.skill',
    await zipFile({
      'SKILL.md': '# The skill\n',
      'wrapped/notes/deep.txt': '0123456789',
      'page.html': '<script>',
      'a.svg': '<svg/>',
      'a.png': '\u0089PNG\0',
      noext: 'wörds',
      'empty.txt': '',
    }),
  );
});
afterEach(() => expect(fixture.faults.splice(0)).toEqual([]));

describe('files inside a .skill archive', () => {
  test.each([
    ['SKILL.md', '# The skill\n', 'text/markdown; charset=utf-8', 'inline'],
    ['wrapped/notes/deep.txt', '0123456789', 'text/plain; charset=utf-8', 'inline'],
    ['notes/deep.txt', '0123456789', 'text/plain; charset=utf-8', 'inline'],
    ['page.html', '<script>', 'text/html; charset=utf-8', 'attachment'],
    ['a.svg', '<svg/>', 'image/svg+xml', 'attachment'],
    ['a.png', '\u0089PNG\0', 'image/png', 'inline'],
    ['noext', 'wörds', 'text/plain; charset=utf-8', 'inline'],
    ['empty.txt', '', 'text/plain; charset=utf-8', 'inline'],
  ])('%s is served as a file of its own would be', async (name, content, type, place) => {
    const { statusCode, headers, body } = await get(`x.skill/${name}`);
    expect({ statusCode, body }).toEqual({ statusCode: 200, body: content });
    expect(headers).toMatchObject({
      'content-type': type,
      'content-length': String(Buffer.byteLength(content)),
      'cache-control': 'private, max-age=300',
      'x-content-type-options': 'nosniff',
      'content-security-policy': 'sandbox',
    });
    expect(headers['content-disposition']).toMatch(new RegExp(`^${place}; filename="${name.split('/').at(-1)}"`));
  });

  test('downloads, ranges, conditions and HEAD', async () => {
    const path = 'x.skill/notes/deep.txt';
    const { headers } = await get(`${path}?download=true`);
    expect(headers['content-disposition']).toMatch(/^attachment/);
    const part = await get(path, { range: 'bytes=2-4' });
    expect([part.statusCode, part.body, part.headers['content-range']]).toEqual([206, '234', 'bytes 2-4/10']);
    expect((await get(path, { range: 'bytes=-2' })).body).toBe('89');
    expect((await get(path, { range: 'bytes=10-' })).statusCode).toBe(416);
    expect((await get(path, { 'if-none-match': String(headers.etag) })).statusCode).toBe(304);
    expect((await get('x.skill/SKILL.md')).headers.etag).not.toBe(headers.etag);
    const head = await get(path, {}, 'HEAD');
    expect([head.statusCode, head.body, head.headers['content-length']]).toEqual([200, '', '10']);
  });

  test('a range deep in a large entry is its own bytes', async () => {
    const content = Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * 31) % 251));
    write('large.skill', await zipFile({ 'data.bin': content }));
    const { rawPayload } = await get('large.skill/data.bin', { range: 'bytes=70000-169999' });
    expect(rawPayload.equals(content.subarray(70_000, 170_000))).toBe(true);
  });

  test('what is not there is 404, and what climbs is refused', async () => {
    expect(await statusOf('x.skill/nothing.md')).toBe(404);
    expect(await statusOf('x.skill/wrapped')).toBe(404);
    expect(await statusOf('missing.skill/SKILL.md')).toBe(404);
    expect(await statusOf('x.skill/..%2fx.skill')).toBe(403);
    expect(await statusOf('x.skill/..%5cx.skill')).toBe(403);
    expect(await statusOf('x.skill/a%00b')).toBe(400);
  });

  test('a folder with such a name holds plain files', async () => {
    mkdirSync(join(outputs(), 'open.skill'));
    write('open.skill/SKILL.md', 'plain');
    expect((await get('open.skill/SKILL.md')).body).toBe('plain');
    expect(await statusOf('open.skill/none.md')).toBe(404);
  });

  test('what is no archive, or a broken one, is refused', async () => {
    write('text.skill', 'no archive at all');
    const whole = await zipFile({ 'SKILL.md': 'x'.repeat(5_000) });
    write('cut.skill', whole.subarray(0, whole.length - 10));
    const damaged = Buffer.from(whole);
    damaged.fill(0xff, 40, 60);
    write('damaged.skill', damaged);
    for (const name of ['text', 'cut', 'damaged']) expect(await statusOf(`${name}.skill/SKILL.md`)).toBe(400);
  });

  test('bombs are refused by their size and by how tightly they are packed, whatever they claim', async () => {
    write(
      'bomb.skill',
      await zipFile({ 'huge.txt': Buffer.alloc(17 * 1024 * 1024, 'a'), 'tight.txt': Buffer.alloc(2 * 1024 * 1024) }),
    );
    expect(await statusOf('bomb.skill/huge.txt')).toBe(413);
    expect(await statusOf('bomb.skill/tight.txt')).toBe(413);
    const lying = await zipFile({ 'SKILL.md': Buffer.alloc(1024 * 1024, 'a') });
    const directory = lying.lastIndexOf(Buffer.from('PK\u0001\u0002', 'latin1'));
    lying.writeUInt32LE(10, directory + 24);
    write('lying.skill', lying);
    expect(await statusOf('lying.skill/SKILL.md')).toBe(400);
    const many = new ZipFile();
    for (let at = 0; at <= 5_000; at += 1) many.addEmptyDirectory(`f${at}`);
    many.end();
    write('many.skill', await buffer(many.outputStream));
    expect(await statusOf('many.skill/f1')).toBe(413);
  });

  test('links, encrypted entries, names that are there twice and names that climb are refused', async () => {
    const file = new ZipFile();
    file.addBuffer(Buffer.from('/etc/passwd'), 'link', { mode: 0o120777 });
    file.addBuffer(Buffer.from('one'), 'twice');
    file.addBuffer(Buffer.from('two'), 'twice');
    file.addBuffer(Buffer.from('fine'), 'once');
    file.addEmptyDirectory('folder');
    file.end();
    write('odd.skill', await buffer(file.outputStream));
    expect(await statusOf('odd.skill/link')).toBe(403);
    expect(await statusOf('odd.skill/twice')).toBe(400);
    expect(await statusOf('odd.skill/once')).toBe(200);
    expect(await statusOf('odd.skill/folder')).toBe(404);
    expect(await statusOf('odd.skill/folder/')).toBe(404);

    const encrypted = await zipFile({ 'SKILL.md': 'secret' });
    const directory = encrypted.lastIndexOf(Buffer.from('PK\u0001\u0002', 'latin1'));
    encrypted.writeUInt16LE(encrypted.readUInt16LE(directory + 8) | 1, directory + 8);
    write('encrypted.skill', encrypted);
    expect(await statusOf('encrypted.skill/SKILL.md')).toBe(400);

    const climbing = (await zipFile({ 'aa/evil': 'x', 'SKILL.md': 'x' }))
      .toString('latin1')
      .replaceAll('aa/evil', '../evil');
    write('climbing.skill', Buffer.from(climbing, 'latin1'));
    expect(await statusOf('climbing.skill/SKILL.md')).toBe(400);
  });
});
