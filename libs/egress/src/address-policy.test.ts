import { networkInterfaces } from 'node:os';
import fc from 'fast-check';
import { addressPolicy, isGlobalUnicast, isReachableForOperator } from './address-policy.js';

// A machine that has much else to do.
const quadOf = (value: number): string =>
  [24, 16, 8, 0].map((shift) => String(Math.floor(value / 2 ** shift) % 256)).join('.');
/** The special-purpose ranges as first and last number: another way to say what the code says in CIDRs. */
const special: readonly (readonly [number, number])[] = [
  [0x00000000, 0x00ffffff],
  [0x0a000000, 0x0affffff],
  [0x64400000, 0x647fffff],
  [0x7f000000, 0x7fffffff],
  [0xa83f8110, 0xa83f8110],
  [0xa9fe0000, 0xa9feffff],
  [0xac100000, 0xac1fffff],
  [0xc0000000, 0xc00000ff],
  [0xc0000200, 0xc00002ff],
  [0xc01fc400, 0xc01fc4ff],
  [0xc034c100, 0xc034c1ff],
  [0xc0586300, 0xc05863ff],
  [0xc0a80000, 0xc0a8ffff],
  [0xc0af3000, 0xc0af30ff],
  [0xc6120000, 0xc613ffff],
  [0xc6336400, 0xc63364ff],
  [0xcb007100, 0xcb0071ff],
  [0xe0000000, 0xffffffff],
];
const isSpecial = (value: number): boolean => special.some(([first, last]) => value >= first && value <= last);
const edges = special
  .flatMap(([first, last]) => [first - 1, first, last, last + 1])
  .filter((n) => n >= 0 && n < 2 ** 32);
const ipv4 = fc.oneof(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constantFrom(...edges));
const group = fc.nat(0xffff).map((value) => value.toString(16));
const groups = (count: number) => fc.array(group, { minLength: count, maxLength: count }).map((all) => all.join(':'));
const hex = (value: number): string => `${Math.floor(value / 65_536).toString(16)}:${(value % 65_536).toString(16)}`;

describe('isGlobalUnicast', () => {
  test('holds for exactly the IPv4 addresses outside the special ranges', () => {
    fc.assert(
      fc.property(ipv4, (value) => {
        expect([quadOf(value), isGlobalUnicast(quadOf(value))]).toEqual([quadOf(value), !isSpecial(value)]);
      }),
      { numRuns: 1000 },
    );
    for (const value of edges)
      expect([quadOf(value), isGlobalUnicast(quadOf(value))]).toEqual([quadOf(value), !isSpecial(value)]);
  });

  test('holds for no IPv6 address that carries an IPv4 one, whichever it carries', () => {
    const carriers: readonly ((value: number) => string)[] = [
      (value) => `::ffff:${quadOf(value)}`,
      (value) => `::ffff:${hex(value)}`,
      (value) => `::${hex(value)}`,
      (value) => `64:ff9b::${hex(value)}`,
      (value) => `64:ff9b:1::${hex(value)}`,
      (value) => `2002:${hex(value)}::1`,
      (value) => `2001:0:${hex(value)}::1`,
    ];
    fc.assert(
      fc.property(ipv4, fc.constantFrom(...carriers), (value, carry) => {
        expect([carry(value), isGlobalUnicast(carry(value))]).toEqual([carry(value), false]);
      }),
    );
  });

  test('holds for no IPv6 address outside 2000::/3, and for the others but the special ones', () => {
    fc.assert(
      fc.property(fc.nat(0xffff), groups(7), (first, rest) => {
        const address = `${first.toString(16)}:${rest}`;
        if (first >> 13 !== 1) expect([address, isGlobalUnicast(address)]).toEqual([address, false]);
        else if (![0x2001, 0x2002, 0x3fff].includes(first)) expect(isGlobalUnicast(address)).toBe(true);
      }),
    );
    for (const address of ['2606:4700:4700::1111', '2001:4860:4860::8888', '2a00:1450:4001::1'])
      expect([address, isGlobalUnicast(address)]).toEqual([address, true]);
  });

  test('holds for none of the addresses that attacks go for, and for nothing that is no address', () => {
    for (const address of [
      '::',
      '::1',
      'fe80::1',
      'fe80::1%eth0',
      '2606:4700::1%eth0',
      'fd00:ec2::254',
      'ff02::1',
      '2001:db8::1',
    ])
      expect([address, isGlobalUnicast(address)]).toEqual([address, false]);
    for (const address of [
      '169.254.169.254',
      '100.100.100.200',
      '192.0.0.192',
      '168.63.129.16',
      '0',
      '127.1',
      'x',
      '',
      '8.8.8.8 ',
    ])
      expect([address, isGlobalUnicast(address)]).toEqual([address, false]);
  });
});

describe('addressPolicy', () => {
  test('opens the private ranges it is given and no more', () => {
    const isAllowed = addressPolicy(['10.1.0.0/16', '192.168.7.9/32', 'fd12::/16']);

    for (const address of ['10.1.2.3', '192.168.7.9', 'fd12::7', '8.8.8.8'])
      expect([address, isAllowed(address)]).toEqual([address, true]);
    for (const address of [
      '10.2.0.1',
      '192.168.7.8',
      'fd13::1',
      '::ffff:10.1.2.3',
      '::ffff:a01:203',
      '64:ff9b::a01:203',
    ])
      expect([address, isAllowed(address)]).toEqual([address, false]);
  });

  test('refuses loopback, link-local, metadata and this machine, whatever ranges are open', () => {
    const isAllowed = addressPolicy(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7']);
    const own = Object.values(networkInterfaces()).flatMap((entries) => (entries ?? []).map(({ address }) => address));

    for (const address of [
      ...own,
      '127.0.0.1',
      '169.254.169.254',
      '100.100.100.200',
      'fd00:ec2::254',
      'fd20:ce::254',
      'fe80::1',
    ])
      expect([address, isAllowed(address)]).toEqual([address, false]);
    expect(own).not.toEqual([]);
  });

  test('refuses invalid ranges and ranges that do not lie in a private one', () => {
    for (const range of [
      '10.0.0.0',
      '10.0.0.0/7',
      '10.0.0.0/33',
      '8.8.8.0/24',
      '127.0.0.0/8',
      '169.254.0.0/16',
      '0.0.0.0/0',
    ])
      expect(() => addressPolicy([range])).toThrow(`${range} must be a CIDR inside`);
    for (const range of [
      '::/0',
      'fe80::/10',
      '::1/128',
      '::ffff:10.0.0.0/104',
      'mirror.local',
      '10.0.0.0/8/8',
      '10.0.0.0/ 8',
      '',
    ])
      expect(() => addressPolicy([range])).toThrow('must be a CIDR inside');
  });
});

describe('isReachableForOperator', () => {
  test('takes private networks and this machine, but neither metadata nor unassigned addresses', () => {
    for (const address of ['8.8.8.8', '10.0.0.1', '192.168.1.1', '127.0.0.1', '::1', 'fd12::7', '2606:4700::1111'])
      expect([address, isReachableForOperator(address)]).toEqual([address, true]);
    for (const address of ['169.254.169.254', '169.254.170.2', '168.63.129.16', '100.100.100.200', 'fd00:ec2::254'])
      expect([address, isReachableForOperator(address)]).toEqual([address, false]);
    for (const address of ['0.0.0.0', '224.0.0.1', '255.255.255.255', '::', 'fe80::1', 'fe80::1%lo', 'ff02::1', 'x'])
      expect([address, isReachableForOperator(address)]).toEqual([address, false]);
    for (const address of ['::ffff:10.0.0.1', '::ffff:169.254.169.254', '64:ff9b::a01:203', '2002:7f00:1::'])
      expect([address, isReachableForOperator(address)]).toEqual([address, false]);
  });
});
