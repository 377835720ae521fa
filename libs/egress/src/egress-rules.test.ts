import fc from 'fast-check';
import { isListed, parseEgressRule } from './egress-rules.js';

// A machine that has much else to do.
const label = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
const name = fc.array(label, { minLength: 2, maxLength: 4 }).map((labels) => labels.join('.'));
const lists = (rule: string, host: string, port = 443): boolean => isListed([parseEgressRule(rule)], { host, port });

describe('an allow-list', () => {
  test('names a host by itself, in any spelling, and at the two ports of the web', () => {
    expect(parseEgressRule('PyPI.org.')).toEqual({ match: 'exact', host: 'pypi.org' });
    expect([80, 443, 22, 8080, 6379].map((port) => lists('pypi.org', 'pypi.org', port))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect([443, 8443].map((port) => lists('pypi.org:8443', 'pypi.org', port))).toEqual([false, true]);
  });

  test('names everything below a suffix, at whole labels only, and not the suffix itself', () => {
    fc.assert(
      fc.property(name, label, (suffix, first) => {
        const rule = `*.${suffix}`;
        expect(lists(rule, `${first}.${suffix}`)).toBe(true);
        expect(lists(rule, `${first}.more.${suffix}`)).toBe(true);
        expect([lists(rule, suffix), lists(rule, `${first}${suffix}`), lists(rule, `${suffix}.${first}`)]).toEqual([
          false,
          false,
          false,
        ]);
        expect(lists(suffix, `${first}.${suffix}`)).toBe(false);
      }),
    );
  });

  test('names an address only by that address', () => {
    expect(lists('8.8.8.8', '8.8.8.8')).toBe(true);
    expect(parseEgressRule('0x8.8.8.8:53')).toEqual({ match: 'exact', host: '8.8.8.8', port: 53 });
    expect(parseEgressRule('[2606:4700::]')).toEqual({ match: 'exact', host: '2606:4700::' });
    expect(isListed([{ match: 'below', host: '8.8' }], { host: '8.8.8.8', port: 443 })).toBe(false);
  });

  test('refuses rules that name no host', () => {
    for (const rule of [
      '',
      '*',
      '*.',
      '*.*.org',
      'a.*',
      '*.0.0.1',
      'https://pypi.org',
      'pypi.org/simple',
      'pypi.org:',
      'a b',
      '10.0.0.0/8',
    ])
      expect(() => parseEgressRule(rule)).toThrow(`"${rule}" must be a host or *.suffix`);
  });

  test('that is empty lists nothing', () => {
    expect(isListed([], { host: 'pypi.org', port: 443 })).toBe(false);
  });
});
