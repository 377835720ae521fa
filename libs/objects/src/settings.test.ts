import { ConfigError, objectStoreConfig } from '@caribou/config';
import { requestUrl } from './s3/request-url.js';

const keys = { access_key_id: 'id', secret_access_key: 'secret-value' };

const s3Of = (section: Readonly<Record<string, unknown>>) => {
  const settings = objectStoreConfig({ s3: { bucket: 'files', ...keys, ...section } }, '/home');
  if (settings.kind !== 's3') throw new Error('not S3');
  return settings.s3;
};

describe('objectStoreConfig', () => {
  test('without a section objects are in a durable folder below the home', () => {
    const folder = { path: '/srv/caribou/objects', isDurable: true, timeoutMs: 60_000 };
    expect(objectStoreConfig(undefined, '/srv/caribou')).toEqual({ kind: 'folder', folder });
    expect(objectStoreConfig({ folder: { path: '/data', durable: false } }, '/srv/caribou')).toMatchObject({
      folder: { path: '/data', isDurable: false },
    });
  });

  test('the endpoint follows from the region, and a prefix ends with a slash', () => {
    expect(s3Of({ region: 'eu-west-1', prefix: 'a/b' })).toMatchObject({
      endpoint: 'https://s3.eu-west-1.amazonaws.com',
      prefix: 'a/b/',
      addressing: 'path',
    });
  });

  test('keys do not show', () => {
    expect(JSON.stringify(s3Of({ session_token: 'token-value' }))).not.toMatch(/secret-value|token-value/);
  });

  test.each([
    [{ s3: { ...keys } }, 'files.store.s3.bucket'],
    [{ s3: { bucket: 'b!', ...keys } }, 'files.store.s3.bucket: must be the name of a bucket'],
    [{ s3: { bucket: 'files' } }, 'files.store.s3.access_key_id'],
    [{ s3: { bucket: 'files', ...keys, endpoint: 'ftp://host' } }, 'files.store.s3.endpoint'],
    [{ s3: { bucket: 'files', ...keys, endpoint: 'https://u:p@host' } }, 'must have no user, password'],
    [{ s3: { bucket: 'files', ...keys, prefix: '/a' } }, 'files.store.s3.prefix'],
    [{ s3: { bucket: 'files', ...keys, prefix: 'a/../b' } }, 'files.store.s3.prefix'],
    [{ s3: { bucket: 'files', ...keys, prefix: `${'a'.repeat(199)}!` } }, 'files.store.s3.prefix'],
    [{ s3: { bucket: 'files', ...keys, part_bytes: 1_000 } }, 'files.store.s3.part_bytes'],
    [{ s3: { bucket: 'files', ...keys, buckett: 1 } }, 'buckett'],
    [{ folder: { path: 'relative' } }, 'files.store.folder.path: must be an absolute path'],
    [{ folder: {}, s3: { bucket: 'files', ...keys } }, 'must have folder or s3, not both'],
  ])('%j is refused by naming the key', (section, text) => {
    const parse = (): unknown => objectStoreConfig(section, '/home');
    expect(parse).toThrow(ConfigError);
    expect(parse).toThrow(text);
    expect(parse).not.toThrow('secret-value');
  });
});

describe('requestUrl', () => {
  test('has the bucket in the path behind that of the endpoint, or in the host name', () => {
    const settings = { endpoint: 'https://host:9000/store/', bucket: 'files' } as const;
    expect(requestUrl({ ...settings, addressing: 'path' }, 'p/a').href).toBe('https://host:9000/store/files/p/a');
    expect(requestUrl({ ...settings, addressing: 'virtual-host' }, 'p/a').href).toBe(
      'https://files.host:9000/store/p/a',
    );
    expect(requestUrl({ ...settings, addressing: 'path' }, undefined, { prefix: 'a b&c' }).href).toBe(
      'https://host:9000/store/files/?prefix=a%20b%26c',
    );
  });
});
