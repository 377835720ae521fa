import type { Browser, Page } from 'playwright-core';
import { waitFor } from '@caribou/testing';
import { ASKING_CONFIG, effectsIn, writeAskingModule } from '../support/asking-tool.js';
import { findChromium, launchChromium } from '../support/chromium.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';
import { newGate } from '../sdk/calls.js';
import { type Balancer, startBalancer } from './browser/balancer.js';
import { type PageServer, servePage } from './browser/page-server.js';

/** Pages of the unmodified packages in a real browser, with a load balancer between them and two gateways. */

jest.setTimeout(120_000);

let stack: Stack;
let browser: Browser | undefined;
let balancer: Balancer;

beforeAll(async () => {
  stack = await startStack({ gateways: 2, runners: 0, config: ASKING_CONFIG });
  await writeAskingModule(stack.homeDir);
  stack.runners.push(await stack.start('agent-runner'));
  balancer = await startBalancer(nth(stack.gateways, 0).healthPort);
  if (executablePath !== undefined) browser = await launchChromium(executablePath);
});

afterAll(async () => {
  await browser?.close();
  await balancer.stop();
  await stack.stop();
});

const executablePath = findChromium();
if (executablePath === undefined) console.warn('skipped: pages in a browser (no program chromium)');

/** Kills the gateway that the balancer sends connections to, and sends them to another, new one. */
async function killGateway(): Promise<void> {
  const victim = stack.gateways.shift();
  const next = nth(stack.gateways, 0);
  balancer.choose(next.healthPort);
  await victim?.kill9();
  stack.gateways.push(await stack.start('gateway'));
}

const textsOf = (page: Page): Promise<string[]> => page.locator('ol > li').allTextContents();

async function shows(page: Page, expected: readonly string[]): Promise<void> {
  let seen: readonly string[] = [];
  const isShown = async (): Promise<boolean> => {
    seen = await textsOf(page);
    return JSON.stringify(seen) === JSON.stringify(expected);
  };
  await waitFor(isShown, { what: `the page to show ${JSON.stringify(expected)}` }).catch((error: unknown) => {
    throw new Error(`the page shows ${JSON.stringify(seen)}`, { cause: error });
  });
}

const settles = (page: Page): Promise<unknown> =>
  page.getByRole('status').filter({ hasText: 'ready' }).waitFor({ timeout: 30_000 });

/**
 * Resolves once the server has confirmed so many subscriptions of the page's next socket: one that is lost before is not sent again by
 * the SDK.
 */
async function subscriptionsOf(page: Page, count: number): Promise<void> {
  let confirmed = 0;
  page.once('websocket', (socket) => {
    socket.on(
      'framereceived',
      ({ payload }) => void (confirmed += String(payload).includes('"subscription_id"') ? 1 : 0),
    );
  });
  await waitFor(() => confirmed >= count, { what: 'the subscriptions of the page', timeoutMs: 60_000 });
}

async function send(page: Page, text: string): Promise<void> {
  await page.getByLabel('message').fill(text);
  await page.getByText('Send').click();
}

(executablePath === undefined ? describe.skip : describe).each([
  ['@langchain/react', 'react-chat.tsx'],
  ['@langchain/svelte', 'svelte-chat.mjs'],
])('useStream of %s', (_package, entry) => {
  let server: PageServer;

  beforeAll(async () => {
    server = await servePage(`e2e/protocol/browser/${entry}`);
  });
  afterAll(() => server.stop());

  async function open(transport: string): Promise<Page> {
    if (browser === undefined) throw new Error('no browser was started');
    const page = await browser.newPage();
    const api = encodeURIComponent(`http://127.0.0.1:${balancer.port}/api/langgraph`);
    await page.goto(`${server.origin}/?api=${api}&transport=${transport}`);
    await settles(page);
    return page;
  }

  describe.each(['sse', 'websocket'])('over %s', (transport) => {
    test('shows an answer while it is written, through a reload and a kill of its gateway, and the next one', async () => {
      const page = await open(transport);
      const [first, second] = [newGate(), newGate()];
      const script = `#hold ${first} after 2\n#hold ${second} after 3\n#say One two three four.`;
      await send(page, script);
      await shows(page, [script, 'One two']);

      await page.reload();
      await shows(page, [script, 'One two']);
      stack.model.release(first);
      await shows(page, [script, 'One two three']);

      await killGateway();
      stack.model.release(second);
      await shows(page, [script, 'One two three four.']);
      await settles(page);

      await send(page, '#say And more.');
      await shows(page, [script, 'One two three four.', '#say And more.', 'And more.']);
      await settles(page);
      await page.reload();
      await shows(page, [script, 'One two three four.', '#say And more.', 'And more.']);
      expect(await page.getByRole('alert').count()).toBe(0);
      await page.close();
    });

    test('shows what a tool returned', async () => {
      const page = await open(transport);
      const script = '#say Looking.\n#+tool bash {"description":"greet","command":"echo hi there"}\n#say It says hi.';
      await send(page, script);
      await shows(page, [script, 'Looking.', 'hi there\n', 'It says hi.']);
      await settles(page);
      await page.close();
    });

    test('shows a question, also after a reload, and sends the answer to another gateway', async () => {
      const page = await open(transport);
      const what = `paint-${nonce().split(' ').at(-1)}`;
      const script = `#tool ask_first {"what":"${what}"}\n#say It is done.`;
      await send(page, script);
      const question = page.locator('[data-question]');
      await question.waitFor({ timeout: 30_000 });
      expect(await question.textContent()).toContain(`May I ${what}?`);

      const subscribed = transport === 'websocket' ? subscriptionsOf(page, 2) : Promise.resolve();
      await page.reload();
      await question.waitFor({ timeout: 30_000 });
      await subscribed;
      await killGateway();
      await page.getByText('Yes').click();
      await shows(page, [script, '', `did ${what} as "yes"`, 'It is done.']);
      await settles(page);

      expect(await question.count()).toBe(0);
      expect(await effectsIn(stack.homeDir)).toContain(what);
      await page.close();
    });

    test('shows an error of the run', async () => {
      const page = await open(transport);
      await send(page, '#error 400 nope');
      await page.getByRole('alert').waitFor({ timeout: 30_000 });
      await settles(page);
      await page.close();
    });
  });
});
