import fc from 'fast-check';
import { freeName, safeName } from './safe-name.js';

describe('safeName', () => {
  test.each<[string, string, string | null]>([
    ['a plain name', 'report v1.pdf', 'report v1.pdf'],
    ['letters of other scripts', 'отчёт 報告.txt', 'отчёт 報告.txt'],
    ['a path', '../../etc/passwd', 'passwd'],
    ['an absolute path', '/etc/passwd', 'passwd'],
    ['an encoded path, which is a name', '%2e%2e%2fpasswd', '%2e%2e%2fpasswd'],
    ['the empty name', '', null],
    ['the directory itself', '.', null],
    ['the parent', '..', null],
    ['a path without a name', 'a/', null],
    ['a backslash', '..\\..\\boot.ini', null],
    ['a NUL', 'a\0.txt', null],
    ['a line break', 'a\nb.txt', null],
    ['a lone surrogate', 'a\ud800', null],
    ['a name that reads backwards', 'harmless\u202egnp.exe', 'harmlessgnp.exe'],
    ['invisible marks alone', '\u200b\u200f', null],
    ['dots in front', '.bashrc', 'bashrc'],
    ['a part of our own', '.upload-1.part', 'upload-1.part'],
    ['dots and spaces behind', 'a.txt. .', 'a.txt'],
    ['a device', 'CON', '_CON'],
    ['a device with an extension', 'nul.txt', '_nul.txt'],
    ['a name that only begins like a device', 'console.log', 'console.log'],
    ['255 bytes', 'é'.repeat(127) + 'a', 'é'.repeat(127) + 'a'],
    ['256 bytes', 'é'.repeat(128), null],
    ['4 kB', 'a'.repeat(4_096), null],
  ])('%s', (_, sent, kept) => {
    expect(safeName(sent)).toBe(kept);
  });

  test('is always one name that moves nowhere, and stays as it is when taken again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (sent) => {
        const name = safeName(sent);
        if (name === null) return;
        expect(name).not.toMatch(/[/\\\u0000-\u001f]|^\.|^$/);
        expect(safeName(name)).toBe(name);
      }),
    );
  });
});

describe('freeName', () => {
  test('counts up before the extension', () => {
    expect(freeName('a.tar.gz', new Set())).toBe('a.tar.gz');
    expect(freeName('a.tar.gz', new Set(['a.tar.gz']))).toBe('a.tar_1.gz');
    expect(freeName('a', new Set(['a', 'a_1']))).toBe('a_2');
    expect(freeName('a'.repeat(254), new Set(['a'.repeat(254)]))).toBeNull();
  });
});
