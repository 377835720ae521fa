import { openWatchedPage, type WatchedPage } from '../support/chromium.js';
import { hardMarkdown, hostileTexts } from './hostile-texts.js';
import { chromiumPath, composerOf, isDone, type OpenConsole, openConsole, send, shows } from './open-console.js';

/** Whatever a model, a tool or a user writes: nothing of it runs in the console, and no other host is asked for anything. */

jest.setTimeout(240_000);

/** Answers of one conversation. */
const TEXTS_AT_ONCE = 10;

(chromiumPath === undefined ? describe.skip : describe)('hostile texts in the console', () => {
  let open: OpenConsole;

  beforeAll(async () => {
    open = await openConsole();
  });
  afterAll(() => open.stop());

  /** Nothing ran, no host was asked, and no element is there that could do either. */
  async function expectHarmless({ page, faults, foreign }: WatchedPage): Promise<void> {
    expect(await page.evaluate(() => (globalThis as { hostile?: unknown }).hostile)).toBeUndefined();
    expect(foreign).toEqual([]);
    expect(faults).toEqual([]);
    const dangerous = await page.evaluate(() =>
      [...document.querySelectorAll('*')]
        .filter((element) => {
          const address = element.getAttribute('href') ?? element.getAttribute('src') ?? '';
          const isProgram = element.tagName === 'SCRIPT' && !/^(\.\/)?assets\//.test(element.getAttribute('src') ?? '');
          const hasHandler = element.getAttributeNames().some((name) => name.startsWith('on'));
          return (
            isProgram ||
            hasHandler ||
            /^\s*(javascript|vbscript|file|data:text)/i.test(address) ||
            ['IFRAME', 'OBJECT', 'EMBED', 'BASE', 'STYLE'].includes(element.tagName)
          );
        })
        .map((element) => element.outerHTML.slice(0, 200)),
    );
    expect(dangerous).toEqual([]);
  }

  const batches = Array.from({ length: Math.ceil(hostileTexts.length / TEXTS_AT_ONCE) }, (_, at) =>
    hostileTexts.slice(at * TEXTS_AT_ONCE, (at + 1) * TEXTS_AT_ONCE),
  );

  test.each(batches.map((texts, at) => [at + 1, texts] as const))(
    'of a person and in answers, part %d',
    async (at, texts) => {
      const watched = await openWatchedPage(open.browser);
      await watched.page.goto(open.origin);
      const end = `The end of part ${at}`;
      await send(watched.page, `#say Texts\n${[...texts, end].map((text) => `#+say \\n\\n${text}`).join('\n')}`);
      await shows(watched.page, end);
      await isDone(watched.page);
      await expectHarmless(watched);
      await watched.page.context().close();
    },
  );

  test('that are hard to parse leave the page usable', async () => {
    const watched = await openWatchedPage(open.browser);
    await watched.page.goto(open.origin);
    for (const [at, text] of hardMarkdown.entries()) {
      const end = `The end of text ${at}`;
      await send(watched.page, `#say ${text}\n#+say \\n\\n${end}`);
      await shows(watched.page, end);
      await isDone(watched.page);
      await composerOf(watched.page).fill('still usable');
      expect(await composerOf(watched.page).inputValue()).toBe('still usable');
    }
    await expectHarmless(watched);
    await watched.page.context().close();
  });
});
