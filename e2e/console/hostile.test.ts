import type { Page } from 'playwright-core';
import { waitFor } from '@caribou/testing';
import { openWatchedPage } from '../support/chromium.js';
import { nonce } from '../support/stack.js';
import {
  answersOf,
  chromiumPath,
  composerOf,
  isDone,
  type OpenConsole,
  openConsole,
  send,
  shows,
} from './open-console.js';

/** What a model, a tool or a person may have written: nothing of it runs, is loaded, or makes the page stop. */

jest.setTimeout(240_000);

const CORPUS = [
  '<script>window.hacked = 1</script>',
  '<img src=x onerror="window.hacked = 1">',
  '<svg onload="window.hacked = 1"><animate onbegin="window.hacked = 1" attributeName=x dur=1s></svg>',
  '<iframe srcdoc="<script>parent.hacked = 1</script>"></iframe>',
  '<style>* { display: none }</style><link rel=stylesheet href=https://tracker.example/x.css>',
  '<form action=https://tracker.example><input autofocus onfocus="window.hacked = 1"></form>',
  '<a href="javascript:window.hacked = 1">raw</a>',
  '[a](javascript:window.hacked=1) [b](JaVaScRiPt:window.hacked=1) [c](data:text/html,<script>window.hacked=1</script>)',
  '[d](java&#10;script:window.hacked=1) [e](&#106;avascript:window.hacked=1) [f](vbscript:x) [g](//tracker.example/)',
  '![t](https://tracker.example/pixel.png) ![s](javascript:window.hacked=1) ![d](data:image/svg+xml;base64,PHN2Zy8+)',
  '[https://bank.example](https://evil.example/login)',
  '<javascript:window.hacked=1> <https://auto.example/>',
  '[ref]: javascript:window.hacked=1',
  '[ref] [^1]',
  '[^1]: A note [x](#/settings)',
  'pay \u202Eeruces\u202C now',
  '$(window.hacked = 1) {{constructor.constructor("window.hacked=1")()}}',
  '`````js\n</code></pre><script>window.hacked = 1</script>\n`````',
  '| a | b |\n|---|---|\n| <script>window.hacked=1</script> | [x](javascript:window.hacked=1) |',
  '- [x] done\n- [ ] <img src=https://tracker.example/2.png>',
  '**open *tags `and ~~broken [markdown](http://',
];

const elementsOf = (page: Page) =>
  page.evaluate(() => {
    const shown = document.querySelector('[data-scrolls="messages"]');
    const links = Array.from(shown?.querySelectorAll('a') ?? []);
    return {
      hacked: 'hacked' in window,
      forbidden: Array.from(
        shown?.querySelectorAll('script, iframe, style, link, form, img, object, embed') ?? [],
        (each) => each.outerHTML,
      ),
      outside: links
        .filter(({ target }) => target === '_blank')
        .map(({ href, rel, target }) => ({ href, rel, target })),
    };
  });

(chromiumPath === undefined ? describe.skip : describe)('hostile content', () => {
  let open: OpenConsole;
  beforeAll(async () => {
    open = await openConsole();
  });
  afterAll(() => open.stop());

  test('of an answer, of a tool and of a title neither runs nor is loaded', async () => {
    const { page, faults, foreign } = await openWatchedPage(open.browser);
    await page.goto(open.origin);
    const said = CORPUS.map((text) => text.replaceAll('\n', '\\n')).join('\\n\\n');
    const command = JSON.stringify({ command: `cat <<'END'\n${CORPUS.join('\n')}\nEND` });
    await send(
      page,
      `<img src=x onerror=window.hacked=1> ${nonce()}\n#tool bash ${command}\n#say ${said}\\n\\nThe end of it`,
    );
    await shows(page, 'The end of it');
    await isDone(page);
    await page.getByText('bash').first().click();
    const { hacked, forbidden, outside } = await elementsOf(page);
    expect(hacked).toBe(false);
    expect(forbidden).toEqual([]);
    expect(outside.length).toBeGreaterThan(0);
    for (const { href, rel } of outside) {
      expect(href).toMatch(/^https:\/\/(tracker|evil|auto)\.example\//);
      expect(rel).toBe('noopener noreferrer');
    }
    const text = await answersOf(page);
    expect(text).toContain('https://bank.example (evil.example)');
    expect(text).toContain('⟦U+202E⟧');
    expect(foreign).toEqual([]);
    expect(faults).toEqual([]);
    await page.reload();
    await shows(page, 'The end of it');
    expect((await elementsOf(page)).hacked).toBe(false);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test('of two million characters in one line is shown in part, and the page can be used', async () => {
    const { page, faults } = await openWatchedPage(open.browser);
    await page.goto(open.origin);
    const thread = crypto.randomUUID();
    await fetch(`${open.origin}/api/threads`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ thread_id: thread }),
    });
    const run = await fetch(`${open.origin}/api/threads/${thread}/runs/wait`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        assistant_id: 'lead_agent',
        input: { messages: [{ type: 'human', content: `${nonce()}\n#say ${'x'.repeat(2_000_000)}` }] },
      }),
    });
    expect(run.status).toBe(200);
    await run.arrayBuffer();
    await page.goto(`${open.origin}/#/threads/${thread}`);
    await page.getByRole('button', { name: /Show all 2,000,000/ }).waitFor({ timeout: 60_000 });
    const startMs = performance.now();
    await composerOf(page).fill('still here');
    expect(await composerOf(page).inputValue()).toBe('still here');
    expect(performance.now() - startMs).toBeLessThan(5_000);
    expect((await answersOf(page)).length).toBeLessThan(50_000);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test('of thousands of messages is read in pages, of which few are elements of the page', async () => {
    const { page, faults } = await openWatchedPage(open.browser);
    const thread = crypto.randomUUID();
    const post = async (path: string, body: object): Promise<void> => {
      const answer = await fetch(`${open.origin}/api${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect(answer.status).toBe(200);
      await answer.arrayBuffer();
    };
    await post('/threads', { thread_id: thread });
    for (let part = 0; part < 4; part += 1) {
      const messages = Array.from({ length: 500 }, (_, index) => ({
        type: 'human',
        content: `line ${part * 500 + index}`,
      }));
      await post(`/threads/${thread}/state`, { values: { messages } });
    }
    await page.goto(`${open.origin}/#/threads/${thread}`);
    await page.getByText('line 1999', { exact: true }).waitFor();
    const list = page.locator('[data-scrolls="messages"]');
    expect(await page.locator('article').count()).toBeLessThan(60);
    await waitFor(
      async () => {
        await list.evaluate((element) => element.scrollTo(0, 0));
        return await page.getByText('line 0', { exact: true }).isVisible();
      },
      { what: 'the first message', timeoutMs: 120_000 },
    );
    expect(await page.locator('article').count()).toBeLessThan(60);
    expect(faults).toEqual([]);
    await page.context().close();
  });
});
