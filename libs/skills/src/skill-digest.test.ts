import { SkillDigest } from './skill-digest.js';

interface DigestedFile {
  readonly path: string;
  readonly chunks: readonly string[];
  readonly isProgram?: boolean;
}

async function* chunksOf(chunks: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield await Promise.resolve(Buffer.from(chunk));
}

async function digestOf(...files: readonly DigestedFile[]): Promise<string> {
  const digest = new SkillDigest();
  for (const { path, chunks, isProgram = false } of files) {
    const passed: Uint8Array[] = [];
    for await (const chunk of digest.add(chunksOf(chunks), { segments: path.split('/'), isProgram }))
      passed.push(chunk);
    expect(Buffer.concat(passed).toString()).toBe(chunks.join(''));
  }
  return digest.sha256();
}

describe('SkillDigest', () => {
  const text: DigestedFile = { path: 'SKILL.md', chunks: ['# How\n'] };
  const script: DigestedFile = { path: 'scripts/a.sh', chunks: ['echo ', '1'], isProgram: true };

  test('is the same in another order and by other chunks', async () => {
    const digest = await digestOf(text, script);
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(await digestOf({ ...script, chunks: ['echo 1'] }, text)).toBe(digest);
  });

  test.each<[string, DigestedFile[]]>([
    ['content', [text, { ...script, chunks: ['echo 2'] }]],
    ['path', [text, { ...script, path: 'scripts/b.sh' }]],
    ['directory', [text, { ...script, path: 'scripts a.sh' }]],
    ['right to be executed', [text, { ...script, isProgram: false }]],
    ['number of files', [text]],
    ['division into files', [text, { ...script, chunks: ['echo '] }, { ...script, path: 'b', chunks: ['1'] }]],
  ])('is another one with another %s', async (_what, files) => {
    expect(await digestOf(...files)).not.toBe(await digestOf(text, script));
  });
});
