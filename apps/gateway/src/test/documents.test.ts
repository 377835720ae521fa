import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { InvalidRequestError, RateLimitedError, type UploadedFile } from '@caribou/contracts';
import type { DocumentConverter } from '@caribou/documents';
import type { UploadKey } from '@caribou/core';
import { type RedisConnection, redisConversions } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

/** What a converter is asked: the document's text, to be answered by the test. */
interface Asked {
  readonly document: string;
  answer(markdown: string): void;
  refuse(error: Error): void;
}

const fixture = useGateways({ appendonly: false });
let redis: RedisConnection;
/** One waits for Markdown as long as it takes, the other not at all. */
let patient: OpenGateway;
let hasty: OpenGateway;
let asked: Asked[];
/** Answers at once unless a test takes that over. */
let convert: (asked: Asked) => void;
let thread: string;

const converter: DocumentConverter = {
  toMarkdown: async (file, { signal }) => {
    const document = file instanceof Uint8Array ? String(file) : await text(file);
    return new Promise((resolve, reject) => {
      const one = { document, answer: resolve, refuse: reject };
      signal?.addEventListener('abort', () => reject(signal.reason));
      asked.push(one);
      convert(one);
    });
  },
};

const gatewayWith = (settings: string): Promise<OpenGateway> =>
  fixture.open({ config: `uploads: { ${settings} }\n`, replaced: { converter } });

beforeAll(async () => {
  redis = fixture.connectRedis();
  [patient, hasty] = await Promise.all([gatewayWith('convert_wait_ms: 60000'), gatewayWith('convert_wait_ms: 0')]);
});
beforeEach(() => {
  thread = randomUUID();
  asked = [];
  convert = ({ document, answer }) => answer(`# ${document}`);
});
afterEach(() => expect(fixture.faults.splice(0)).toEqual([]));

const uploads = (): string => join(fixture.home, 'users', 'default', 'threads', thread, 'user-data', 'uploads');
/** Without what is still being received. */
const visible = (): string[] => readdirSync(uploads()).filter((name) => !name.startsWith('.upload-'));
const content = (): Record<string, string> =>
  Object.fromEntries(visible().map((name) => [name, readFileSync(join(uploads(), name), 'utf8')]));

async function upload(gateway: OpenGateway, files: Readonly<Record<string, string>>): Promise<UploadedFile[]> {
  const part = ([name, body]: [string, string]) =>
    `--b\r\nContent-Disposition: form-data; name="files"; filename="${name}"\r\n\r\n${body}\r\n`;
  const reply = await gateway.app.inject({
    method: 'POST',
    url: `/api/threads/${thread}/uploads`,
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
    payload: `${Object.entries(files).map(part).join('')}--b--\r\n`,
  });
  expect(reply.statusCode).toBe(200);
  return reply.json<{ files: UploadedFile[] }>().files;
}

async function list(gateway = patient): Promise<UploadedFile[]> {
  const reply = await gateway.app.inject({ method: 'GET', url: `/api/threads/${thread}/uploads/list` });
  return reply.json<{ files: UploadedFile[] }>().files;
}

const conversionOf = async (name: string, gateway = patient) => {
  const file = (await list(gateway)).find(({ filename }) => filename === name);
  return { conversion: file?.conversion, markdown: file?.markdown_file };
};

const becomes = async (name: string, state: Awaited<ReturnType<typeof conversionOf>>) => {
  await waitFor(async () => JSON.stringify(await conversionOf(name)) === JSON.stringify(state), {
    what: `${name} to be ${JSON.stringify(state)}`,
  });
};

const remove = async (name: string): Promise<number> =>
  (await patient.app.inject({ method: 'DELETE', url: `/api/threads/${thread}/uploads/${name}` })).statusCode;

describe('documents among uploads', () => {
  test('the Markdown lies beside the document, is named, served, listed, and removed with it', async () => {
    const [file, plain] = await upload(patient, { 'a b.pdf': 'facts', 'c.txt': 'text' });
    const path = '/mnt/user-data/uploads/a b.md';
    const url = `/api/threads/${thread}/artifacts/mnt/user-data/uploads/a%20b.md`;
    const told = {
      conversion: 'done',
      markdown_file: 'a b.md',
      markdown_path: path,
      markdown_virtual_path: path,
      markdown_artifact_url: url,
    };
    expect(file).toMatchObject({ filename: 'a b.pdf', ...told });
    expect(plain).not.toHaveProperty('conversion');
    expect((await patient.app.inject({ method: 'GET', url })).body).toBe('# facts');
    expect((await list(hasty)).map(({ filename }) => filename)).toEqual(['a b.md', 'a b.pdf', 'c.txt']);
    expect((await list(hasty))[1]).toMatchObject(told);

    expect(await remove('a%20b.pdf')).toBe(200);
    expect(Object.keys(content())).toEqual(['c.txt']);
  });

  test('a document is removed with its Markdown by the next request when a gateway dies in between', async () => {
    const store = redisConversions(redis);
    let dies: () => void = () => undefined;
    const died = new Promise<void>((resolve) => (dies = resolve));
    const conversions = {
      ...store,
      forget: async (file: UploadKey) => {
        await store.forget(file);
        dies();
        return new Promise<never>(() => undefined);
      },
    };
    const mortal = await fixture.open({ replaced: { converter, conversions } });
    await upload(patient, { 'a.pdf': 'facts' });
    void mortal.app.inject({ method: 'DELETE', url: `/api/threads/${thread}/uploads/a.pdf` });
    await died;
    expect(await remove('a.pdf')).toBe(200);
    expect(content()).toEqual({});
  });

  test.each(['a.doc', 'a.xls', 'a.ppt'])('%s gets Markdown as the formats of today do', async (name) => {
    expect(await upload(patient, { [name]: 'facts' })).toMatchObject([{ conversion: 'done', markdown_file: 'a.md' }]);
    expect(content()).toEqual({ [name]: 'facts', 'a.md': '# facts' });
  });

  test('no file is ever replaced by Markdown, not one of the same request either', async () => {
    const files = await upload(patient, { 'a.pdf': 'one', 'a.md': 'mine', 'a.docx': 'two' });
    const names = new Set(files.flatMap(({ markdown_file }) => markdown_file ?? []));
    expect(names).toEqual(new Set(['a_1.md', 'a_2.md']));
    expect(content()['a.md']).toBe('mine');
    expect(new Set([content()['a_1.md'], content()['a_2.md']])).toEqual(new Set(['# one', '# two']));

    expect(await remove('a.pdf')).toBe(200);
    expect(await remove('a.docx')).toBe(200);
    expect(content()).toEqual({ 'a.md': 'mine' });
  });

  test("a user's file in the Markdown's place stays, and the Markdown is made again beside it", async () => {
    await upload(patient, { 'a.pdf': 'one' });
    await upload(patient, { 'a.md': 'mine' });
    await becomes('a.pdf', { conversion: 'done', markdown: 'a_1.md' });
    expect(await remove('a.pdf')).toBe(200);
    expect(content()).toEqual({ 'a.md': 'mine' });
  });

  test('Markdown that somebody removed is not made again', async () => {
    await upload(patient, { 'a.pdf': 'one' });
    unlinkSync(join(uploads(), 'a.md'));
    expect(await conversionOf('a.pdf')).toEqual({ conversion: undefined, markdown: undefined });
    expect(asked).toHaveLength(1);
  });

  test('a document that cannot be converted is an upload like any other, with the reason', async () => {
    convert = ({ refuse }) => refuse(new InvalidRequestError('the file is encrypted'));
    const failed = { conversion: 'failed', conversion_error: 'the file is encrypted' };
    expect(await upload(patient, { 'a.xlsx': 'x' })).toMatchObject([{ filename: 'a.xlsx', ...failed }]);
    expect(await list()).toMatchObject([{ filename: 'a.xlsx', ...failed }]);
    expect(asked).toHaveLength(1);
  });

  test('an upload does not wait longer than configured, and the list tells when it is through', async () => {
    convert = () => undefined;
    expect(await upload(hasty, { 'a.pdf': 'one' })).toMatchObject([{ conversion: 'pending' }]);
    expect(await conversionOf('a.pdf')).toEqual({ conversion: 'pending', markdown: undefined });
    await waitFor(() => asked.length === 1, { what: 'the conversion to run' });
    asked[0]?.answer('# one');
    await becomes('a.pdf', { conversion: 'done', markdown: 'a.md' });
  });

  test('what a dead gateway had begun is taken over by one of those that look', async () => {
    convert = () => undefined;
    await upload(hasty, { 'a.pdf': 'one' });
    await waitFor(() => asked.length === 1, { what: 'the conversion to run' });
    const file = { userId: 'default', threadId: thread, filename: 'a.pdf' };
    const store = redisConversions(redis);
    const record = (await store.read(file, ['a.pdf'])).get('a.pdf');
    if (record?.status !== 'pending') throw new Error('not pending');
    await store.begin(file, record, { token: 'of a dead gateway', leaseMs: 1 });
    // Whoever held it before must not publish.
    asked[0]?.answer('# late');
    convert = ({ document, answer }) => answer(`# ${document}`);
    await Promise.all([list(patient), list(hasty), list(patient), list(hasty)]);
    await becomes('a.pdf', { conversion: 'done', markdown: 'a.md' });
    expect(asked).toHaveLength(2);
    expect(content()).toEqual({ 'a.pdf': 'one', 'a.md': '# one' });
  });

  test('Markdown that was published before its maker died is taken for its own, not made twice', async () => {
    await upload(patient, { 'a.pdf': 'one' });
    const file = { userId: 'default', threadId: thread, filename: 'a.pdf' };
    const store = redisConversions(redis);
    const record = (await store.read(file, ['a.pdf'])).get('a.pdf');
    if (record?.status !== 'done') throw new Error('not done');
    const { source, companion } = record;
    await store.begin(file, { status: 'pending', source, attempts: 1, companion }, { token: 'dead', leaseMs: 1 });
    await becomes('a.pdf', { conversion: 'done', markdown: 'a.md' });
    expect(asked).toHaveLength(1);
    expect(Object.keys(content())).toEqual(['a.md', 'a.pdf']);
  });

  test('a document that is uploaded again while it is converted gets the Markdown of the new one alone', async () => {
    convert = () => undefined;
    await upload(hasty, { 'a.pdf': 'old' });
    await waitFor(() => asked.length === 1, { what: 'the first conversion' });
    convert = ({ document, answer }) => answer(`# ${document}`);
    await upload(patient, { 'a.pdf': 'new' });
    asked[0]?.answer('# old');
    await becomes('a.pdf', { conversion: 'done', markdown: 'a.md' });
    await upload(patient, { 'a.pdf': 'newest' });
    expect(content()).toEqual({ 'a.pdf': 'newest', 'a.md': '# newest' });
  });

  test('a document that is deleted while it is converted leaves nothing behind', async () => {
    convert = () => undefined;
    await upload(hasty, { 'a.pdf': 'one', 'b.pdf': 'two' });
    await waitFor(() => asked.length === 2, { what: 'the conversions to run' });
    expect(await remove('a.pdf')).toBe(200);
    for (const one of asked) one.answer(`# ${one.document}`);
    await becomes('b.pdf', { conversion: 'done', markdown: 'b.md' });
    expect(Object.keys(content())).toEqual(['b.md', 'b.pdf']);
  });

  test('a document for which there is no place now is converted when somebody looks later', async () => {
    convert = ({ refuse }) => refuse(new RateLimitedError('too many documents wait'));
    expect(await upload(patient, { 'a.pdf': 'one' })).toMatchObject([{ conversion: 'pending' }]);
    convert = ({ document, answer }) => answer(`# ${document}`);
    await becomes('a.pdf', { conversion: 'done', markdown: 'a.md' });
  });

  test('a gateway that stops hands its conversions over', async () => {
    const stopping = await gatewayWith('convert_wait_ms: 0');
    convert = () => undefined;
    await upload(stopping, { 'a.pdf': 'one' });
    await waitFor(() => asked.length === 1, { what: 'the conversion to run' });
    convert = ({ document, answer }) => answer(`# ${document}`);
    for (const step of stopping.stop) await step.run();
    await becomes('a.pdf', { conversion: 'done', markdown: 'a.md' });
  });

  test('conversion can be switched off', async () => {
    const off = await gatewayWith('auto_convert_documents: false');
    const [file] = await upload(off, { 'a.pdf': 'one' });
    for (const step of off.stop) await step.run();
    expect(file).not.toHaveProperty('conversion');
    expect(asked).toEqual([]);
    expect(content()).toEqual({ 'a.pdf': 'one' });
  });
});
