import type { Browser, Page } from 'playwright-core';
import { type Balancer, startBalancer } from '../protocol/browser/balancer.js';
import { axeFaults, findChromium, launchChromium, openWatchedPage } from '../support/chromium.js';
import { nth, type Stack, startStack } from '../support/stack.js';
import { startPrefixProxy } from './prefix-proxy.js';

/** The frame of the console in a real browser: what it shows around pages, and when the gateway is gone or replaced. */

jest.setTimeout(120_000);

const executablePath = findChromium();
if (executablePath === undefined) console.warn('skipped: the frame of the console in a browser (no program chromium)');

/** What Chromium says itself when a connection breaks or is refused, or a file is not there. */
const BROKEN = [/Failed to load resource/];

(executablePath === undefined ? describe.skip : describe)('the frame of the console', () => {
  let stack: Stack;
  let browser: Browser;
  let balancer: Balancer;

  beforeAll(async () => {
    stack = await startStack({ runners: 0, managers: 0 });
    balancer = await startBalancer(nth(stack.gateways, 0).healthPort);
    browser = await launchChromium(executablePath ?? '');
  });
  afterAll(async () => {
    await browser.close();
    await balancer.stop();
    await stack.stop();
  });

  const origin = () => `http://127.0.0.1:${balancer.port}`;
  const settingsOf = (page: Page) => page.locator('a[aria-current=page]', { hasText: 'Settings' });

  const profileOf = (page: Page) => page.getByRole('heading', { level: 1, name: 'Profile' });

  /** Answers every script with 404, but slowly. @returns the paths that are asked for */
  async function loseScripts(page: Page): Promise<readonly string[]> {
    const asked: string[] = [];
    await page.route('**/assets/*.js', async (route) => {
      asked.push(new URL(route.request().url()).pathname);
      await new Promise((resolve) => setTimeout(resolve, 300));
      await route.fulfill({ status: 404, json: { detail: 'unknown' } });
    });
    return asked;
  }

  async function open(path = '#/settings', options: Parameters<typeof openWatchedPage>[1] = {}) {
    const watched = await openWatchedPage(browser, options);
    await watched.page.goto(`${origin()}/${path}`);
    return watched;
  }

  test('a first visitor reads that the demo model is scripted, reaches every part, and needs no other host', async () => {
    const { page, faults, foreign } = await open('');
    await page.getByText('The answers here are scripted.').waitFor();
    for (const name of ['Operate', 'Settings', 'Conversations']) {
      await page.getByRole('link', { name, exact: true }).first().click();
      await page.locator('a[aria-current=page]', { hasText: name }).waitFor();
    }
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.reload();
    await page.getByRole('link', { name: 'Settings' }).waitFor();

    expect(await page.getByText('The answers here are scripted.').count()).toBe(0);
    expect([faults, foreign]).toEqual([[], []]);
    await page.context().close();
  });

  test('the menu of the user names him, shows the version, and changes the theme for this browser', async () => {
    const { page, faults } = await open();
    await page.getByRole('button', { name: /Account/ }).click();
    await page.getByText('Administrator, without sign-in').waitFor();
    await page.getByRole('radio', { name: 'Dark' }).check();
    await page.getByRole('button', { name: 'About Caribou' }).click();
    const about = page.getByRole('dialog', { name: 'About Caribou' });
    await about.getByText(/Version \d/).waitFor();
    const links = await about
      .getByRole('link')
      .evaluateAll((all) => all.map((each) => (each as HTMLAnchorElement).href));
    const statuses = await Promise.all(links.map(async (link) => (await fetch(link)).status));
    await page.keyboard.press('Escape');
    await page.reload();
    await settingsOf(page).waitFor();

    expect(links).toEqual(['docs', 'openapi.json', 'health', 'ready'].map((path) => `${origin()}/${path}`));
    // No runner and no sandbox-manager is there, so the gateway is not ready.
    expect(statuses).toEqual([200, 200, 200, 503]);
    expect(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)).toBe('dark');
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test('everything is reached by keyboard: skip link, shortcuts and their list, focus and title of the next page', async () => {
    const { page } = await open();
    await settingsOf(page).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('content');
    await page.keyboard.press('?');
    const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await list.getByText('Go to Conversations').waitFor();
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'detached' });
    await page.locator('body').evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    await page.getByRole('heading', { level: 1, name: 'Fleet' }).waitFor();

    expect(await page.evaluate(() => document.activeElement?.id)).toBe('content');
    await page.locator('[aria-live=polite]', { hasText: 'Fleet' }).waitFor({ state: 'attached' });
    await page.context().close();
  });

  test.each([
    ['wide and light', 1280, 'light'],
    ['wide and dark', 1280, 'dark'],
    ['narrow', 360, 'light'],
  ] as const)('axe finds no serious fault when the page is %s', async (_look, width, colorScheme) => {
    const { page } = await open('#/settings', { viewport: { width, height: 720 }, colorScheme });
    await profileOf(page).waitFor();
    if (width < 640) {
      expect(await page.getByRole('link', { name: 'Conversations' }).count()).toBe(0);
      await page.getByRole('button', { name: 'Menu' }).click();
      await page.getByRole('link', { name: 'Conversations' }).waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
    await page.getByRole('button', { name: /Account/ }).click();
    expect(await axeFaults(page)).toEqual([]);
    await page.context().close();
  });

  test('while the gateway does not answer a line says so, which goes when it does, and the page reads again', async () => {
    const { page } = await open('#/settings', { expected: BROKEN });
    await settingsOf(page).waitFor();
    await nth(stack.gateways, 0).kill9();
    await page.getByRole('button', { name: /Account/ }).click();
    await page.getByRole('button', { name: 'About Caribou' }).click();
    await page.getByText('The server does not answer. This page tries again by itself').waitFor();

    stack.gateways[0] = await stack.start('gateway');
    balancer.choose(nth(stack.gateways, 0).healthPort);
    await page
      .getByText('The server does not answer. This page tries again')
      .waitFor({ state: 'detached', timeout: 20_000 });
    await page.getByText(/Version \d/).waitFor();
    await page.context().close();
  });

  test('a gateway with another version of the page is noticed once; a missing part says so', async () => {
    const { page } = await open('#/settings', { expected: BROKEN });
    await profileOf(page).waitFor();
    await loseScripts(page);
    await page.route(`${origin()}/`, (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: '<script type="module" src="./assets/index-newer000.js"></script>',
      }),
    );
    await page.getByRole('link', { name: 'Operate' }).click();
    await page.getByText('A new version of this page is there.').waitFor();
    await page.getByText('belongs to a version that was replaced').waitFor();
    await page.getByRole('button', { name: 'Later' }).click();
    await page.getByRole('link', { name: 'Settings' }).click();
    await profileOf(page).waitFor();
    expect(await page.getByText('A new version of this page is there.').count()).toBe(0);

    await page.getByRole('link', { name: 'Operate' }).click();
    await page.getByText('belongs to a version that was replaced').waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.getByRole('heading', { level: 1, name: 'Fleet' }).waitFor();
    await page.context().close();
  });

  test('a part of the page that cannot be loaded is asked for once in each visit, and shown when it can', async () => {
    const { page } = await open('#/operate', { expected: BROKEN });
    await page.getByRole('heading', { level: 1, name: 'Fleet' }).waitFor();
    const asked = await loseScripts(page);
    const failed = page.getByRole('heading', { level: 1, name: 'This page has failed' });
    await page.getByRole('link', { name: 'Queues' }).click();
    await failed.waitFor();
    await page.waitForTimeout(1_000);
    expect(asked.filter((path) => path.includes('/queues-page'))).toHaveLength(1);
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.locator('a[aria-current=page]', { hasText: 'Settings' }).waitFor();
    await failed.waitFor();
    await page.unrouteAll();
    await page.getByRole('link', { name: 'Operate' }).click();
    await page.getByRole('link', { name: 'Queues' }).click();
    await page.getByRole('heading', { level: 1, name: 'Queues' }).waitFor();
    await page.getByRole('link', { name: 'Settings' }).click();
    await profileOf(page).waitFor();
    await page.context().close();
  });

  test('a menu that is opened while a page is being loaded stays open when the page goes on to its first part', async () => {
    let isHeld = true;
    const { page } = await openWatchedPage(browser);
    await page.route('**/assets/settings-*.js', async (route) => {
      while (isHeld) await new Promise((resolve) => setTimeout(resolve, 50));
      await route.continue();
    });
    await page.goto(`${origin()}/#/settings`);
    await page.getByRole('button', { name: /Account/ }).click();
    await page.getByRole('radio', { name: 'Dark' }).focus();
    isHeld = false;
    await profileOf(page).waitFor();

    expect(page.url()).toMatch(/#\/settings\/profile$/);
    expect(await page.getByRole('radio', { name: 'Dark' }).evaluate((radio) => radio === document.activeElement)).toBe(
      true,
    );
    await page.context().close();
  });

  test.each(['/tools/caribou', '/tools/caribou/'])('works below a path of a proxy, opened as %s', async (path) => {
    const proxy = await startPrefixProxy(nth(stack.gateways, 0).healthPort, '/tools/caribou');
    const { page, faults } = await openWatchedPage(browser);
    const failed: string[] = [];
    page.on('response', (answer) => void (answer.ok() || failed.push(answer.url())));
    await page.goto(`${proxy.origin}${path}#/settings`);
    await settingsOf(page).waitFor();
    await page.getByRole('link', { name: 'Operate' }).click();
    await page.locator('main h1').first().waitFor();

    expect([faults, failed]).toEqual([[], []]);
    await page.context().close();
    await proxy.stop();
  });
});
