import fc from 'fast-check';
import { canonicalHost, formatTarget, parseAuthority } from './host-name.js';

// A machine that has much else to do.
const quad = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255));
const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?$/);
const name = fc
  .tuple(fc.array(label, { minLength: 1, maxLength: 4 }), fc.stringMatching(/^[a-z]{2,6}$/))
  .map(([labels, last]) => [...labels, last].join('.'))
  // "xn--" announces an encoded name, and not every text is one.
  .filter((text) => !text.includes('xn--'));

const number = (parts: readonly number[]): number => parts.reduce((sum, part) => sum * 256 + part, 0);
const spellings: readonly ((quad: readonly [number, number, number, number]) => string)[] = [
  (parts) => parts.join('.'),
  (parts) => `${parts.join('.')}.`,
  (parts) => String(number(parts)),
  (parts) => `0x${number(parts).toString(16)}`,
  (parts) => `0X${number(parts).toString(16).toUpperCase()}`,
  (parts) => `0${number(parts).toString(8)}`,
  (parts) => parts.map((part) => `0x${part.toString(16)}`).join('.'),
  (parts) => parts.map((part) => `0${part.toString(8)}`).join('.'),
  ([first, ...rest]) => `${first}.${number(rest)}`,
  ([first, second, ...rest]) => `${first}.0x${second.toString(16)}.${number(rest)}`,
  (parts) => parts.join('.').replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  (parts) => parts.join('。'),
];

describe('canonicalHost', () => {
  test('gives every spelling of an IPv4 address that resolvers take as the dotted quad', () => {
    fc.assert(
      fc.property(quad, fc.constantFrom(...spellings), (parts, spell) => {
        expect(canonicalHost(spell(parts))).toBe(parts.join('.'));
      }),
    );
  });

  test('is the same for any case of letters and with a trailing dot, and for its own result', () => {
    fc.assert(
      fc.property(name, fc.infiniteStream(fc.boolean()), (host, upper) => {
        const mixed = Array.from(host, (letter) => (upper.next().value === true ? letter.toUpperCase() : letter)).join(
          '',
        );
        expect([canonicalHost(mixed), canonicalHost(`${mixed}.`), canonicalHost(host)]).toEqual([host, host, host]);
      }),
    );
  });

  test('is null or a plain name or address, whatever the text, and then its own canonical form', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.webAuthority()),
        (text) => {
          const host = canonicalHost(text);
          if (host === null) return;
          expect(host).toMatch(/^([a-z0-9_-]+(\.[a-z0-9_-]+)*|[0-9a-f:]+)$/);
          expect(canonicalHost(host.includes(':') ? `[${host}]` : host)).toBe(host);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('is null when the name has a character that would make it another host', () => {
    const tricks = ['\0', ' ', '\t', '\r\n', '@', '%', '%2e', '/', '\\', '?', '#', ':', '[', ']', '<', '|', '"'];
    fc.assert(
      fc.property(name, fc.constantFrom(...tricks), fc.nat(40), (host, trick, at) => {
        expect(canonicalHost(host.slice(0, at) + trick + host.slice(at))).toBeNull();
      }),
    );
  });

  test('takes names beyond ASCII by their encoded form', () => {
    expect(canonicalHost('BÜCHER.example')).toBe('xn--bcher-kva.example');
    expect(canonicalHost('ｐｙｐｉ．ｏｒｇ')).toBe('pypi.org');
    expect(canonicalHost('py\u00adpi.org')).toBe('pypi.org');
  });

  test('refuses invalid hosts', () => {
    for (const text of ['', '.', '..', 'a..b', '-a.example', 'a-.example', '*.example', '::1', '[::1', '[]', '[::1]x'])
      expect([text, canonicalHost(text)]).toEqual([text, null]);
    for (const text of [
      '[fe80::1%eth0]',
      '256.1.1.1',
      '1.2.3.4.5',
      '09.1.1.1',
      `${'a'.repeat(64)}.example`,
      'a.'.repeat(130),
    ])
      expect([text, canonicalHost(text)]).toEqual([text, null]);
  });

  test('compresses IPv6 addresses, mapped IPv4 ones as well', () => {
    expect(canonicalHost('[2001:0DB8:0:0:0:0:0:1]')).toBe('2001:db8::1');
    expect(canonicalHost('[::ffff:127.0.0.1]')).toBe('::ffff:7f00:1');
  });
});

describe('parseAuthority', () => {
  test('reads host and port, and gives them back', () => {
    fc.assert(
      fc.property(name, fc.integer({ min: 1, max: 65_535 }), (host, port) => {
        expect(parseAuthority(`${host}:${port}`)).toEqual({ host, port });
        expect(parseAuthority(`${host}:${String(port).padStart(5, '0')}`)).toEqual({ host, port });
        expect(parseAuthority(formatTarget({ host, port }))).toEqual({ host, port });
      }),
    );
    expect(parseAuthority('[::1]:443')).toEqual({ host: '::1', port: 443 });
    expect(formatTarget({ host: '::1', port: 443 })).toBe('[::1]:443');
    expect(parseAuthority('a.example')).toEqual({ host: 'a.example' });
  });

  test('refuses other ports and further parts', () => {
    for (const text of [
      'a.example:0',
      'a.example:65536',
      'a.example:',
      'a.example:443:443',
      'a.example:+443',
      'a.example:4 43',
    ])
      expect([text, parseAuthority(text)]).toEqual([text, null]);
    for (const text of ['u@a.example:443', 'a.example:443/x', '[::1]443', 'a.example:0x1bb', ''])
      expect([text, parseAuthority(text)]).toEqual([text, null]);
  });
});
