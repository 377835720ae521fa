import { mediaTypeOf, previewKindOf, toText } from './preview-kind.js';

describe('previewKindOf', () => {
  test.each([
    ['/mnt/user-data/outputs/a.PNG', 'image'],
    ['/mnt/user-data/outputs/a.svg', 'image'],
    ['/mnt/user-data/outputs/a.mp3', 'audio'],
    ['/mnt/user-data/outputs/a.webm', 'video'],
    ['/mnt/user-data/outputs/a.pdf', 'pdf'],
    ['/mnt/user-data/outputs/a.html', 'html'],
    ['/mnt/user-data/outputs/README.md', 'markdown'],
    ['/mnt/user-data/outputs/Makefile', 'text'],
    ['/mnt/user-data/outputs.png/notes', 'text'],
    ['/mnt/user-data/outputs/a.constructor', 'text'],
  ])('%s is shown as %s', (path, kind) => {
    expect(previewKindOf(path)).toBe(kind);
  });

  test('only media get a type of their own', () => {
    expect(mediaTypeOf('a.svg')).toBe('image/svg+xml');
    expect(mediaTypeOf('a.html')).toBeUndefined();
    expect(mediaTypeOf('a.toString')).toBeUndefined();
  });
});

describe('toText', () => {
  const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

  test('a text whose last character was cut loses that character only', () => {
    expect(toText(bytesOf('grün').subarray(0, 3))).toBe('gr');
    expect(toText(bytesOf('grün'))).toBe('grün');
  });

  test('bytes that are no UTF-8, or have a zero, are no text', () => {
    expect(toText(new Uint8Array([0x89, 0x50, 0xff]))).toBeUndefined();
    expect(toText(bytesOf('a\u0000b'))).toBeUndefined();
  });
});
