import type { SandboxPort, ToolOutcome } from '@caribou/core';
import { fakeRun, fakeSandbox } from '@caribou/testing';
import { leadTools } from '../toolset.js';
import { viewImageTool } from './view-image.js';

const PNG = '\x89PNG\r\n\x1a\n....';
const WORKSPACE = '/mnt/user-data/workspace';

/** A sandbox whose files have these contents, a character a byte. */
async function sandboxWith(files: Readonly<Record<string, string>>): Promise<SandboxPort> {
  const sandbox = fakeSandbox();
  const scope = { userId: 'u', threadId: 't', epoch: 1 };
  for (const [path, content] of Object.entries(files)) {
    await sandbox.write(scope, { key: path, path, content, append: false }, new AbortController().signal);
  }
  return sandbox;
}

const look = (sandbox: SandboxPort, image_path: string): Promise<ToolOutcome> =>
  viewImageTool(sandbox).invoke(
    { image_path },
    { run: fakeRun(), toolCallId: 'c1', key: 'r1:c1', state: { messages: [] } },
  );

describe(viewImageTool, () => {
  test.each([
    ['a.png', PNG, 'image/png'],
    ['b.JPG', '\xff\xd8\xff\xe0', 'image/jpeg'],
    ['c.jpeg', '\xff\xd8\xff\xdb', 'image/jpeg'],
    ['d.webp', 'RIFF\x00\x01\x02\nWEBPVP8 ', 'image/webp'],
    ['e.gif', 'GIF89a', 'image/gif'],
  ])('%s enters the state with its kind and size, under its one path', async (name, content, mime_type) => {
    const path = `${WORKSPACE}/${name}`;
    expect(await look(await sandboxWith({ [path]: content }), path)).toEqual({
      content: 'Successfully read image',
      update: { viewed_images: { [path]: { mime_type, size: content.length } } },
    });
  });

  test.each([
    ['relative.png', 'Path must be absolute: relative.png'],
    ['/etc/passwd', expect.stringMatching(/^Path is outside the allowed directories .*: \/etc\/passwd$/)],
    ['/mnt/skills/x.png', expect.stringMatching(/^Path is outside/)],
    [`${WORKSPACE}/../../../etc/logo.png`, expect.stringMatching(/^Path is outside/)],
    [`${WORKSPACE}/none.png`, `Image file not found: ${WORKSPACE}/none.png`],
    [`${WORKSPACE}/a.svg`, expect.stringMatching(/^Unsupported image format: .*a\.svg\. Supported formats: \.jpg, /)],
    [`${WORKSPACE}/png`, expect.stringMatching(/^Unsupported image format/)],
    [`${WORKSPACE}/text.png`, expect.stringMatching(/^File is not an image: .*text\.png\./)],
    [`${WORKSPACE}/empty.png`, expect.stringMatching(/^File is not an image/)],
    [`${WORKSPACE}/wrong.jpg`, `File name does not fit its content, which is image/png: ${WORKSPACE}/wrong.jpg`],
  ])('%s is refused', async (path, reason) => {
    const files = { 'text.png': '<svg onload="x">', 'empty.png': '', 'wrong.jpg': PNG };
    const sandbox = await sandboxWith(
      Object.fromEntries(Object.entries(files).map(([name, content]) => [`${WORKSPACE}/${name}`, content])),
    );
    const { content, isError, update } = await look(sandbox, path);
    expect([isError, update]).toEqual([true, undefined]);
    expect(typeof content === 'string' && content.replace(/^Error: /, '')).toEqual(reason);
  });

  test.each([
    ['is_directory' as const, 'Error: Path is not a file: /mnt/user-data/uploads/x.png'],
    ['not_regular' as const, 'Error: Path is not a file: /mnt/user-data/uploads/x.png'],
    ['permission' as const, 'Error: Permission denied reading file: /mnt/user-data/uploads/x.png'],
  ])('a refusal of the sandbox, %s, is reported', async (reason, content) => {
    const port: SandboxPort = { ...fakeSandbox(), readBytes: () => Promise.resolve({ outcome: 'refused', reason }) };
    expect(await look(port, '/mnt/user-data/uploads/x.png')).toEqual({ content, isError: true });
  });

  test('an image over 20 MB is refused by its size, of which no more than the beginning was read', async () => {
    let asked = 0;
    const port: SandboxPort = {
      ...fakeSandbox(),
      readBytes: (_scope, { max_bytes }) => {
        asked = max_bytes;
        return Promise.resolve({
          outcome: 'ok',
          base64: Buffer.from(PNG, 'latin1').toString('base64'),
          bytes: PNG.length,
          total_bytes: 20 * 1024 * 1024 + 1,
        });
      },
    };
    const { content } = await look(port, `${WORKSPACE}/huge.png`);
    expect(content).toMatch(/^Error: Image is 20971521 bytes; at most 20971520 bytes can be viewed/);
    expect(asked).toBeLessThanOrEqual(64);
  });

  test('only a model that reads images is offered it', () => {
    const names = (vision: boolean): readonly string[] =>
      leadTools({ sandbox: fakeSandbox() }, { vision }).map(({ name }) => name);
    expect(names(false)).not.toContain('view_image');
    expect(names(true)).toEqual([...names(false), 'view_image']);
  });
});
