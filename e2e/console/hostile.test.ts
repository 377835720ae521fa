import type { Browser } from 'playwright-core';
import { waitFor } from '@caribou/testing';
import type { ApiClient } from '../support/client.js';
import { findChromium, launchChromium, openWatchedPage, type WatchedPage } from '../support/chromium.js';
import { type Stack, startStack } from '../support/stack.js';
import { hardMarkdown, hostileTexts } from './hostile-texts.js';
import { composerOf, openConversation, originOf, sendAndWait } from './pages.js';

/** Whatever a model, a tool or a user writes: nothing of it runs in the console, and no other host is asked for anything. */

jest.setTimeout(240_000);

const executablePath = findChromium();
if (executablePath === undefined) console.warn('skipped: the console in a browser (no program chromium)');

const runToEnd = async (client: ApiClient, threadId: string, script: string): Promise<void> => {
  await (await client.run(threadId, script)).end();
};

const printing = (text: string) => ({ description: text, command: `printf '%s' ${JSON.stringify(text)}` });

/** Answers of one conversation. */
const TEXTS_AT_ONCE = 10;
const LONG_LINE = 2_000_000;

(executablePath === undefined ? describe.skip : describe)('hostile texts in the console', () => {
  let stack: Stack;
  let browser: Browser;

  beforeAll(async () => {
    stack = await startStack();
    browser = await launchChromium(executablePath ?? '');
  });
  afterAll(async () => {
    await browser.close();
    await stack.stop();
  });

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
    'in answers and in messages of a person, part %d',
    async (_, texts) => {
      const watched = await openWatchedPage(browser);
      await openConversation(watched.page, stack);
      await sendAndWait(watched.page, texts.map((text) => `#say ${text}`).join('\n#+say \\n\\n'));
      await expectHarmless(watched);
      await watched.page.context().close();
    },
  );

  test('in the title, tool calls, results of tools, and errors', async () => {
    const watched = await openWatchedPage(browser);
    const client = stack.client();
    const threadId = await client.newThread();
    const texts = hostileTexts.slice(0, 8);
    for (const text of texts)
      await runToEnd(client, threadId, `#tool bash ${JSON.stringify(printing(text))}\n#say seen`);
    await client.call('POST', `/threads/${threadId}/state`, { values: { title: hostileTexts[2] } });
    await watched.page.goto(`${originOf(stack)}/#/threads/${threadId}`);
    await composerOf(watched.page).waitFor();
    await watched.page.getByText('seen').first().waitFor();
    await expectHarmless(watched);
    await watched.page.context().close();
  });

  test('in Markdown that is hard to parse the page stays usable', async () => {
    const watched = await openWatchedPage(browser);
    await openConversation(watched.page, stack);
    for (const text of hardMarkdown) {
      await sendAndWait(watched.page, `#say ${text}`);
      await composerOf(watched.page).fill('still usable');
      expect(await composerOf(watched.page).inputValue()).toBe('still usable');
    }
    await expectHarmless(watched);
    await watched.page.context().close();
  });

  test('a line of two megabytes is shown in part, and the page stays usable', async () => {
    const client = stack.client();
    const threadId = await client.newThread();
    await runToEnd(client, threadId, `#say short\n${'x'.repeat(LONG_LINE)}`);
    const watched = await openWatchedPage(browser);
    await watched.page.goto(`${originOf(stack)}/#/threads/${threadId}`);
    await watched.page.getByText('short').first().waitFor();
    await composerOf(watched.page).fill('still usable');
    expect(await composerOf(watched.page).inputValue()).toBe('still usable');
    const shownChars = await watched.page.evaluate(() => document.body.innerText.length);
    expect(shownChars).toBeLessThan(LONG_LINE / 4);
    await waitFor(() => watched.faults.length === 0, { what: 'no fault of the page' });
    await watched.page.context().close();
  });
});
