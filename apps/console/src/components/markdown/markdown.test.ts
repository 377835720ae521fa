import { blocksOf } from './blocks.js';
import { safeUrl, showsHost } from './safe-url.js';
import { visibleText } from './visible-text.js';

describe('addresses of links', () => {
  test.each(['https://example.org/a?b#c', 'http://example.org', 'HTTPS://EXAMPLE.ORG/', 'mailto:a@example.org'])(
    '%s is a link',
    (url) => {
      expect(safeUrl(url)).toBeInstanceOf(URL);
    },
  );

  test.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'java\tscript:alert(1)',
    '\u0001javascript:alert(1)',
    'vbscript:msgbox(1)',
    'data:text/html,<script>alert(1)</script>',
    'data:image/svg+xml;base64,PHN2Zz4=',
    'file:///etc/passwd',
    'blob:https://example.org/1',
    'intent://x#Intent;end',
    '//example.org/path',
    '/api/threads',
    '#/settings',
    'https:example.org',
    'http:/example.org',
    'https://',
    '',
    undefined,
  ])('%j is none', (url) => {
    expect(safeUrl(url)).toBeUndefined();
  });
});

test.each([
  ['https://example.org/a', 'https://example.org/a', true],
  ['example.org', 'https://example.org/a', true],
  ['Example.org/a', 'https://example.org/a', true],
  ['https://bank.example', 'https://evil.example', false],
  ['example.org.evil.example', 'https://example.org', false],
  ['https://example.org@evil.example/', 'https://evil.example/', false],
  ['click here', 'https://example.org', false],
  ['a@example.org', 'mailto:a@example.org', true],
  ['support', 'mailto:a@example.org', false],
])('the text %j of a link to %s shows its host: %s', (text, url, expected) => {
  expect(showsHost(text, new URL(url))).toBe(expected);
});

test('characters that change the direction of a text are shown by their codes, others stay', () => {
  expect(visibleText('pay \u202Eeruces\u202C \u2066x\u2069\u200F')).toBe(
    'pay ⟦U+202E⟧eruces⟦U+202C⟧ ⟦U+2066⟧x⟦U+2069⟧⟦U+200F⟧',
  );
  expect(visibleText('שלום a\u0000b\u0007 👩‍💻\n\t')).toBe('שלום a�b� 👩‍💻\n\t');
});

describe('blocks of Markdown', () => {
  const joined = (text: string): string => blocksOf(text).join('');

  test('paragraphs are blocks; code with blank lines, and lists with parts, are one each', () => {
    expect(blocksOf('a\nb\n\nc\n')).toEqual(['a\nb\n\n', 'c\n']);
    expect(blocksOf('```js\n1\n\n2\n```\n\nend')).toEqual(['```js\n1\n\n2\n```\n\n', 'end']);
    expect(blocksOf('- a\n\n  more of a\n\nend')).toEqual(['- a\n\n  more of a\n\n', 'end']);
    expect(blocksOf('````\n```\n\n```\n````\n\nx')).toEqual(['````\n```\n\n```\n````\n\n', 'x']);
  });

  test('nothing is lost, and only the last block changes while a text grows', () => {
    const text = '# T\n\npara *a*\n\n```\ncode\n\nmore\n```\n\n1. x\n2. y\n\n\n| a |\n|---|\n| 1 |\n\nend';
    let before: readonly string[] = [];
    for (let length = 1; length <= text.length; length += 1) {
      const part = text.slice(0, length);
      const blocks = blocksOf(part);
      expect(joined(part)).toBe(part);
      expect(blocks.slice(0, Math.max(0, before.length - 1))).toEqual(before.slice(0, -1));
      before = blocks;
    }
  });
});
