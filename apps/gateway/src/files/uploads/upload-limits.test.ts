import { TooLargeError } from '@caribou/contracts';
import { UploadLimits } from './upload-limits.js';

async function* chunks(...sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (const size of sizes) yield await Promise.resolve(new Uint8Array(size));
}

async function sizeOf(content: AsyncIterable<Uint8Array>): Promise<number> {
  let size = 0;
  for await (const chunk of content) size += chunk.byteLength;
  return size;
}

const limits = () => new UploadLimits({ maxFiles: 2, maxFileSize: 10, maxTotalSize: 15 });

describe(UploadLimits, () => {
  test('files up to the limits pass as they are', async () => {
    const request = limits();
    request.addFile();
    expect(await sizeOf(request.count(chunks(4, 6), 'a'))).toBe(10);
    request.addFile();
    expect(await sizeOf(request.count(chunks(5), 'b'))).toBe(5);
  });

  test('one file too many is refused', () => {
    const request = limits();
    request.addFile();
    request.addFile();
    expect(() => request.addFile()).toThrow(new TooLargeError('Too many files: at most 2 in a request'));
  });

  test('a file that is too large is refused with the chunk that passes the limit', async () => {
    const content = limits().count(chunks(10, 1, 1), 'big');
    expect((await content.next()).done).toBe(false);
    await expect(content.next()).rejects.toThrow('File too large: big, at most 10 bytes');
  });

  test('files that are not stored count for the request alone', async () => {
    const request = limits();
    expect(await sizeOf(request.count(chunks(12), null))).toBe(12);
    await expect(sizeOf(request.count(chunks(4), 'a'))).rejects.toThrow(
      'Total upload size too large: at most 15 bytes',
    );
  });
});
