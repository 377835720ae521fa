import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { UploadedFile } from '@caribou/contracts';
import {
  docxParts,
  pdfFile,
  pptxParts,
  sampleDocument,
  type TestService,
  waitFor,
  wordParagraph,
  wordTable,
  xlsxParts,
  zipFile,
} from '@caribou/testing';
import { type ApiClient, lastValues } from '../support/client.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';
import { uploadInPieces } from '../support/upload-in-pieces.js';

jest.setTimeout(180_000);

let stack: Stack;
let client: ApiClient;

beforeAll(async () => {
  stack = await startStack({ gateways: 2 });
  client = stack.client();
});
afterAll(() => stack.stop());

const uploadsUrl = (threadId: string, gateway = 0): string =>
  `${stack.client(gateway).base.replace('/langgraph', '')}/threads/${threadId}/uploads`;

async function upload(threadId: string, files: Readonly<Record<string, Buffer>>): Promise<UploadedFile[]> {
  const form = new FormData();
  for (const [name, content] of Object.entries(files)) form.append('files', new Blob([new Uint8Array(content)]), name);
  const answer = await fetch(uploadsUrl(threadId), { method: 'POST', body: form });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { files: UploadedFile[] }).files;
}

async function listed(threadId: string, gateway = 0): Promise<UploadedFile[]> {
  const answer = await fetch(`${uploadsUrl(threadId, gateway)}/list`);
  return ((await answer.json()) as { files: UploadedFile[] }).files;
}

/** Waits until each document of the thread has a state, and none is pending. */
async function converted(threadId: string, gateway = 0): Promise<ReadonlyMap<string, UploadedFile>> {
  let files: UploadedFile[] = [];
  await waitFor(
    async () => {
      files = await listed(threadId, gateway);
      const documents = files.filter(({ filename }) => /\.(pdf|docx?|pptx?|xlsx?)$/.test(filename));
      return (
        documents.length > 0 &&
        documents.every(({ conversion }) => conversion !== undefined && conversion !== 'pending')
      );
    },
    { what: 'the conversions', timeoutMs: 120_000 },
  );
  return new Map(files.map((file) => [file.filename, file]));
}

const onDisk = (threadId: string): string[] =>
  readdirSync(join(stack.homeDir, 'data', 'users', 'default', 'threads', threadId, 'user-data', 'uploads'));

/** The peak memory of a process. */
const peakMib = ({ pid }: TestService): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** The conversion process of a gateway, if one runs. */
function conversionOf({ pid }: TestService): number | undefined {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return children.map(Number).find((child) => {
    try {
      return readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('conversion-process');
    } catch {
      return false;
    }
  });
}

describe('documents', () => {
  test('PDF, Word, PowerPoint and Excel files, old and new, are read by the agent: text, headings and tables', async () => {
    const threadId = await client.newThread();
    const rows =
      '<row r="1"><c r="A1" t="inlineStr"><is><t>Herd</t></is></c><c r="B1" t="inlineStr"><is><t>Head</t></is></c></row>' +
      '<row r="2"><c r="A2" t="inlineStr"><is><t>Porcupine</t></is></c><c r="B2"><v>218000</v></c></row>';
    const page = [
      [24, 'Rivers'],
      [12, 'Caribou cross rivers in spring.'],
    ] as const;
    const body = [
      wordParagraph('Migration', '<w:pStyle w:val="Heading1"/>'),
      wordParagraph('They walk far.'),
      wordTable(['Year', 'Distance'], ['2025', '1350 km']),
    ].join('');
    await upload(threadId, {
      'rivers.pdf': pdfFile([page]),
      'migration.docx': await zipFile(docxParts(body)),
      'tundra.pptx': await zipFile(pptxParts()),
      'herds.xlsx': await zipFile(xlsxParts(rows)),
      'old.doc': sampleDocument('migration.doc'),
      'slides.ppt': sampleDocument('tundra.ppt'),
      'sheets.xls': sampleDocument('herds.xls'),
    });
    const files = await converted(threadId);
    const expected: readonly (readonly [string, readonly string[]])[] = [
      ['rivers.pdf', ['### Rivers', 'Caribou cross rivers in spring.']],
      ['migration.docx', ['# Migration', 'They walk far.', '| Year | Distance |', '| 2025 | 1350 km |']],
      ['tundra.pptx', ['## Slide 1: Herd & tundra', '- North', '| Year | Head |', '> Speak slowly']],
      ['herds.xlsx', ['## Calves', '| Herd | Head |', '| Porcupine | 218000 |']],
      ['old.doc', ['# Migration of the 驯鹿 herd', '- South\n', '| Year | Distance |']],
      ['slides.ppt', ['## Slide 1: Herd & tundra 驯鹿', '  - Far north', '| Year | Head |', '> Speak slowly']],
      ['sheets.xls', ['## Herds', '| Réno 驯鹿 🦌 | 218000.5 |  | 2024-01-01 |', '## Rivers ü', '| Юкон |']],
    ];
    const calls = expected.map(([name]) => {
      const path = files.get(name)?.markdown_virtual_path;
      return `#tool read_file ${JSON.stringify({ description: 'read', path })}`;
    });
    const words = `Read them\n${nonce()}\n${calls.join('\n')}\n#say Done.`;
    const named = [...expected.map(([filename]) => ({ filename })), { filename: '../../canary' }];
    const input = { messages: [{ type: 'human', content: words, additional_kwargs: { files: named } }] };
    const messages = lastValues(await (await client.run(threadId, '', { input })).end(120_000));
    const asked = String(messages[0]?.content);
    expect(asked).toMatch(/^<uploaded_files>\n[^]*\n<\/uploaded_files>\n\nRead them\n/);
    for (const [name] of expected) {
      expect(asked).toContain(
        `  Path: /mnt/user-data/uploads/${name}\n  Markdown: ${files.get(name)?.markdown_path}\n`,
      );
    }
    expect(asked).not.toContain('canary');
    const { body: state } = await client.call<{ values: { title?: string } }>('GET', `/threads/${threadId}/state`);
    expect(state.values.title).toMatch(/^Read them/);
    const results = messages.filter(({ type }) => type === 'tool');
    for (const [index, [, texts]] of expected.entries()) {
      for (const text of texts) expect(String(nth(results, index).content)).toContain(text);
    }
  });

  test('a zip bomb fails alone: a reason, no memory, and other threads continue', async () => {
    const [threadId, other] = [await client.newThread(), await client.newThread()];
    const bomb = await zipFile({ ...docxParts(''), 'word/bomb.xml': Buffer.alloc(150 * 1024 * 1024, 0x20) });
    expect(bomb.length).toBeLessThan(1024 * 1024);
    const before = peakMib(nth(stack.gateways, 0));
    await upload(threadId, { 'bomb.docx': bomb });
    const stream = await client.run(other, `${nonce()}\n#say Still here.`);
    expect(lastValues(await stream.end()).at(-1)?.content).toBe('Still here.');
    expect((await converted(threadId)).get('bomb.docx')).toMatchObject({
      conversion: 'failed',
      conversion_error: expect.stringContaining('inflates to more than'),
    });
    expect(onDisk(threadId)).toEqual(['bomb.docx']);
    expect(peakMib(nth(stack.gateways, 0)) - before).toBeLessThan(200);
  });

  test('an upload of 500 MB is refused before it is sent, and leaves neither memory nor a file', async () => {
    const threadId = await client.newThread();
    const before = peakMib(nth(stack.gateways, 0));
    const { status, sentBytes } = await uploadInPieces(uploadsUrl(threadId), {
      name: 'huge.pdf',
      bytes: 500 * 1024 * 1024,
    });
    expect(status).toBe(413);
    expect(sentBytes).toBeLessThan(250 * 1024 * 1024);
    await waitFor(() => onDisk(threadId).length === 0, { what: 'the parts to be gone' });
    expect(peakMib(nth(stack.gateways, 0)) - before).toBeLessThan(200);
  });

  test('a conversion survives the death of its gateway, and is not repeated', async () => {
    const threadId = await client.newThread();
    const pages = Array.from({ length: 300 }, (_, at) => [[12, `Page of number ${at}`]] as const);
    const killed = nth(stack.gateways, 0);
    const answer = upload(threadId, { 'long.pdf': pdfFile(pages) }).catch(() => undefined);
    const child = await waitFor(() => conversionOf(killed), { what: 'the conversion', timeoutMs: 60_000, everyMs: 2 });
    process.kill(child, 'SIGSTOP');
    await killed.kill9();
    await answer;
    expect((await listed(threadId, 1))[0]).toMatchObject({ filename: 'long.pdf', conversion: 'pending' });
    expect((await converted(threadId, 1)).get('long.pdf')).toMatchObject({
      conversion: 'done',
      markdown_file: 'long.md',
    });
    process.kill(child, 'SIGKILL');
    expect(onDisk(threadId).sort()).toEqual(['long.md', 'long.pdf']);
  });
});
