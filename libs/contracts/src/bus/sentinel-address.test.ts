import { isSentinelUrl, parseSentinelUrl } from './sentinel-address.js';

describe('parseSentinelUrl', () => {
  test('reads hosts with and without ports, the group, the login of Redis and the database', () => {
    expect(parseSentinelUrl('redis+sentinel://gate%40way:p%2Fw@a.internal:26380,b,[fd00::7]:1/my-group.1/3')).toEqual({
      sentinels: [
        { host: 'a.internal', port: 26380 },
        { host: 'b', port: 26379 },
        { host: 'fd00::7', port: 1 },
      ],
      name: 'my-group.1',
      user: 'gate@way',
      password: 'p/w',
      db: 3,
      isTls: false,
    });
  });

  test('reads a password alone, a user alone, and TLS', () => {
    expect(parseSentinelUrl('rediss+sentinel://:secret@h/g')).toMatchObject({ password: 'secret', isTls: true, db: 0 });
    expect(parseSentinelUrl('redis+sentinel://user@h/g')).toMatchObject({ user: 'user' });
    expect(parseSentinelUrl('redis+sentinel://h/g')).not.toHaveProperty('user');
  });

  test.each([
    ['redis+sentinel://', /must be redis\+sentinel/],
    ['redis+sentinel://a/g?db=1', /must be redis\+sentinel/],
    ['redis+sentinel://secret-1:x@y@a/g', /must be redis\+sentinel/],
    ['redis+sentinel://a', /name of the group/],
    ['redis+sentinel://a/', /name of the group/],
    ['redis+sentinel://a/secret-2%20', /name of the group/],
    ['redis+sentinel://a:0/g', /host:port/],
    ['redis+sentinel://a:65536/g', /host:port/],
    ['redis+sentinel://a,,b/g', /host:port/],
    ['redis+sentinel://a b/g', /host:port/],
    [`redis+sentinel://${Array.from({ length: 17 }, (_, index) => `h${index}`).join(',')}/g`, /at most 16/],
    ['redis+sentinel://%zz:secret-3@a/g', /encoded/],
  ])('%s is refused with what is wrong, and nothing of it is shown', (url, fault) => {
    const parsed = parseSentinelUrl(url);
    expect(parsed).toEqual({ fault: expect.stringMatching(fault) });
    expect(JSON.stringify(parsed)).not.toContain('secret');
  });
});

test('an address of one server is none of Sentinels', () => {
  expect(['redis://h:6379', 'rediss://h', 'redis+sentinel://h/g', 'rediss+sentinel://h/g'].map(isSentinelUrl)).toEqual([
    ...[false, false],
    ...[true, true],
  ]);
});
