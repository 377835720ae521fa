import type { Browser, Page } from 'playwright-core';
import { freePort, waitFor } from '@caribou/testing';
import { findChromium, launchChromium, openWatchedPage } from '../support/chromium.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';

/** Conversations in the console, in a real browser against real processes. */

jest.setTimeout(180_000);

let stack: Stack;
let browser: Browser;
let origin: string;
let port: number;

const executablePath = findChromium();
if (executablePath === undefined) console.warn('skipped: the console in a browser (no program chromium)');

beforeAll(async () => {
  if (executablePath === undefined) return;
  stack = await startStack({ gateways: 0, runners: 1, pools: 1 });
  port = await freePort();
  stack.gateways.push(await stack.start('gateway', { PORT: String(port) }));
  origin = `http://127.0.0.1:${port}`;
  browser = await launchChromium(executablePath);
});

afterAll(async () => {
  if (executablePath === undefined) return;
  await browser.close();
  await stack.stop();
});

/** The server that is killed is seen by the browser, which says so for each request. */
const LOST_SERVER = [/net::ERR_/, /Failed to load resource/];

const composerOf = (page: Page) => page.getByRole('textbox', { name: 'Message' });

async function send(page: Page, text: string): Promise<void> {
  await composerOf(page).fill(text);
  await composerOf(page).press('Enter');
}

const answersOf = (page: Page): Promise<string> =>
  page
    .locator('article[aria-label="Agent"]')
    .allInnerTexts()
    .then((texts) => texts.join('\n'));

const shows = (page: Page, text: string): Promise<void> =>
  waitFor(async () => (await answersOf(page)).includes(text), { what: `the page to show ${text}`, timeoutMs: 60_000 });

const isDone = (page: Page): Promise<void> =>
  waitFor(async () => (await page.getByRole('button', { name: 'Stop' }).count()) === 0, {
    what: 'the run to end in the page',
    timeoutMs: 60_000,
  });

const times = (text: string, part: string): number => text.split(part).length - 1;

(executablePath === undefined ? describe.skip : describe)('a conversation', () => {
  test('a newcomer sees the scripted model answer after one click', async () => {
    const { page, faults, foreign } = await openWatchedPage(browser);
    await page.goto(origin);
    await page.getByText('scripted demo model', { exact: false }).first().waitFor();
    await page.getByRole('button', { name: /prime numbers/ }).click();
    await shows(page, 'Primes up to 100: 2 3 5');
    await isDone(page);
    expect(page.url()).toMatch(/#\/threads\/[0-9a-f-]{36}$/);
    await page.locator('[data-scrolls="conversations"]').getByText('List the prime numbers').first().waitFor();
    await page.screenshot({ path: '/tmp/talk-1.png' });
    expect(faults).toEqual([]);
    expect(foreign).toEqual([]);
    await page.context().close();
  });

  test('gateway and runner are killed while an answer streams: it continues in the page by itself, once', async () => {
    const { page, faults } = await openWatchedPage(browser, { expected: LOST_SERVER });
    await page.goto(origin);
    await send(page, `${nonce()}\n#say One sentence.\n#+tool bash {"command":"echo done"}\n#tokens 300 30`);
    await shows(page, 't20 ');
    await nth(stack.gateways, 0).kill9();
    stack.gateways.splice(0, 1, await stack.start('gateway', { PORT: String(port) }));
    await shows(page, 't100 ');
    const runner = nth(stack.runners, 0);
    stack.runners.splice(0, 1, await stack.start('agent-runner'));
    await runner.kill9();
    await shows(page, 't299');
    await isDone(page);
    const text = await answersOf(page);
    expect(times(text, 'One sentence.')).toBe(1);
    for (const token of ['t0 ', 't20 ', 't150 ', 't299'])
      expect(times(text, ` ${token}`.trimEnd()) > 0 || text.includes(token)).toBe(true);
    expect(text.match(/\bt150\b/g)).toHaveLength(1);
    expect(text.match(/\bt299\b/g)).toHaveLength(1);
    await page.screenshot({ path: '/tmp/talk-2.png' });
    expect(faults).toEqual([]);
    await page.context().close();
  });
});
