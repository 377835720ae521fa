import { plainText } from './plain-text.js';

describe(plainText, () => {
  test('removes characters that reorder text, and keeps all others', () => {
    expect(plainText('a\u202Egpj.exe\u2066 <b>é שלום')).toBe('agpj.exe <b>é שלום');
  });

  test('cuts a long text and says so', () => {
    expect(plainText('x'.repeat(30_000))).toBe(`${'x'.repeat(20_000)}…`);
    expect(plainText('abcdef', 3)).toBe('abc…');
    expect(plainText('abc', 3)).toBe('abc');
  });
});
