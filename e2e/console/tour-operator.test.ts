import type { Page } from 'playwright-core';
import { openWatchedPage, type WatchedPage } from '../support/chromium.js';
import { chromiumPath, isDone, LOST_SERVER, type OpenConsole, openConsole, send, shows } from './open-console.js';
import { expectAccessible, expectStructure } from './structure.js';

/** What an operator looks at, with the key of an administrator; and what somebody without these rights gets. */

jest.setTimeout(240_000);

const ADMIN_KEY = 'operator-key-of-this-test';
const USER_KEY = 'user-key-of-this-test';

const pages = [
  ['fleet', 'Fleet'],
  ['queues', 'Queues'],
  ['models', 'Models'],
  ['sandboxes', 'Sandboxes'],
  ['runs', 'Runs'],
  ['dead-letters', 'Dead letters'],
  ['schedules', 'Schedules'],
  ['webhooks', 'Webhooks'],
  ['usage', 'Usage'],
  ['audit', 'Audit'],
  ['configuration', 'Configuration'],
  ['keys', 'API keys'],
  ['users', 'Users'],
] as const;

(chromiumPath === undefined ? describe.skip : describe)('the tour of an operator', () => {
  let open: OpenConsole;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    open = await openConsole({
      pools: 1,
      env: { CARIBOU_API_KEYS: `${ADMIN_KEY}:root:admin,${USER_KEY}:ada` },
    });
  });
  afterAll(() => open.stop());
  afterEach(async () => {
    expect([watched.faults, watched.foreign]).toEqual([[], []]);
    await page.context().close();
  });

  /** A fresh tab, in which a key is entered as a person does. */
  async function enter(key: string, path = ''): Promise<void> {
    // A request without a key is refused, which browsers write to the console.
    watched = await openWatchedPage(open.browser, { expected: [...LOST_SERVER, /401/] });
    ({ page } = watched);
    await page.goto(`${open.origin}/#/${path}`);
    await page.getByLabel('API key', { exact: false }).first().fill(key);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }

  test('every page of Operate opens, is accessible and says what it shows', async () => {
    await enter(ADMIN_KEY, 'threads');
    await send(page, 'Show me the first 20 Fibonacci numbers');
    await shows(page, 'scripted demo model of Caribou');
    await isDone(page);
    await page.getByRole('link', { name: 'Operate' }).click();
    for (const [path, title] of pages) {
      await page.goto(`${open.origin}/#/operate/${path}`);
      await page.getByRole('heading', { level: 1, name: title, exact: false }).waitFor({ timeout: 30_000 });
      await page.waitForLoadState('networkidle').catch(() => undefined);
      await expectAccessible(page);
      expect(await page.getByRole('alert').count()).toBe(0);
    }
    await page.goto(`${open.origin}/#/operate/keys`);
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    await page.getByRole('row').nth(2).waitFor();
    await expectStructure(page, 'operate-keys');
  });

  test('somebody who is no administrator sees no link, and a text in place of the page', async () => {
    await enter(USER_KEY, 'operate/fleet');
    await page.getByRole('heading', { name: 'For administrators only' }).waitFor();
    expect(await page.getByRole('link', { name: 'Operate' }).count()).toBe(0);
    await expectStructure(page, 'administrators-only');
    await expectAccessible(page);
  });
});
