import { PageVersion, scriptOf } from './page-version.js';

const page = (script: string) =>
  `<!doctype html><script type="module" crossorigin src="./assets/${script}"></script><link href="./assets/a.css">`;
const OWN = 'https://host.example/caribou/assets/index-CH0QhNty.js';

describe(scriptOf, () => {
  test('finds the script of a page, relative or below a prefix, and none in other pages', () => {
    expect(scriptOf(page('index-CH0QhNty.js'))).toBe('index-CH0QhNty.js');
    expect(scriptOf('<script src="/tools/assets/index-_x-1.js">')).toBe('index-_x-1.js');
    expect(scriptOf('<h1>Caribou</h1> its console was not built')).toBeUndefined();
  });
});

describe('PageVersion', () => {
  const check = async (served: string | undefined, own: string | null = OWN) => {
    const version = new PageVersion(
      () => own ?? undefined,
      () => Promise.resolve(served),
    );
    await version.check();
    return version.isReplaced.read();
  };

  test('is replaced when the served page starts another script', async () => {
    expect(await check(page('index-B3JMO2mb.js'))).toBe(true);
    expect(await check(page('index-CH0QhNty.js'))).toBe(false);
  });

  test('nothing is concluded without an answer, or from a page of something else', async () => {
    expect(await check(undefined)).toBe(false);
    expect(await check('<h1>Sign in to the proxy</h1>')).toBe(false);
    expect(await check(page('index-B3JMO2mb.js'), null)).toBe(false);
  });
});
