import { axeFaults, openWatchedPage } from '../support/chromium.js';
import { nonce, nth } from '../support/stack.js';
import {
  answersOf,
  chromiumPath,
  isDone,
  LOST_SERVER,
  type OpenConsole,
  openConsole,
  send,
  shows,
  times,
} from './open-console.js';

/** Answers that stream into the console, in a real browser against real processes. */

jest.setTimeout(180_000);

if (chromiumPath === undefined) console.warn('skipped: the console in a browser (no program chromium)');

(chromiumPath === undefined ? describe.skip : describe)('an answer', () => {
  let open: OpenConsole;
  beforeAll(async () => {
    open = await openConsole();
  });
  afterAll(() => open.stop());

  test('of the scripted model comes after one click of a newcomer', async () => {
    const { page, faults, foreign } = await openWatchedPage(open.browser);
    await page.goto(open.origin);
    await page.getByText('scripted demo model', { exact: false }).first().waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole('button', { name: /prime numbers/ }).click();
    await shows(page, 'Primes up to 100: 2 3 5');
    await isDone(page);
    expect(page.url()).toMatch(/#\/threads\/[0-9a-f-]{36}$/);
    await page.locator('[data-scrolls="conversations"]').getByText('List the prime numbers').first().waitFor();
    expect(await axeFaults(page)).toEqual([]);
    expect(faults).toEqual([]);
    expect(foreign).toEqual([]);
    await page.context().close();
  });

  test('continues by itself when gateway and runner are killed while it streams, and is shown once', async () => {
    const { page, faults } = await openWatchedPage(open.browser, { expected: LOST_SERVER });
    await page.goto(open.origin);
    await send(page, `${nonce()}\n#say One sentence.\n#+tool bash {"command":"echo done"}\n#tokens 300 30`);
    await shows(page, 't20 ');
    await open.replaceGateway();
    await shows(page, 't60 ');
    const killed = nth(open.stack.runners, 0);
    open.stack.runners.splice(0, 1, await open.stack.start('agent-runner'));
    await killed.kill9();
    await shows(page, 't299');
    await isDone(page);
    const text = await answersOf(page);
    expect(times(text, 'One sentence.')).toBe(1);
    for (const token of ['t0', 't20', 't150', 't299'])
      expect(text.match(new RegExp(`\\b${token}\\b`, 'g'))).toHaveLength(1);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test('is joined by a page that is reloaded, and by a second tab, while it streams', async () => {
    const first = await openWatchedPage(open.browser);
    await first.page.goto(open.origin);
    await send(first.page, `${nonce()}\n#tokens 200 40`);
    await shows(first.page, 't10 ');
    const second = await openWatchedPage(open.browser);
    await second.page.goto(first.page.url());
    await shows(second.page, 't20 ');
    await first.page.reload();
    for (const { page, faults } of [first, second]) {
      await shows(page, 't199');
      await isDone(page);
      expect((await answersOf(page)).match(/\bt100\b/g)).toHaveLength(1);
      expect(faults).toEqual([]);
    }
    await send(second.page, `${nonce()}\n#say Answer for both`);
    await shows(first.page, 'Answer for both');
    await Promise.all([first.page.context().close(), second.page.context().close()]);
  });
});
