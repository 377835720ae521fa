import type { Page } from 'playwright-core';
import { openWatchedPage, type WatchedPage } from '../support/chromium.js';
import { chromiumPath, isDone, type OpenConsole, openConsole, shows } from './open-console.js';
import { expectAccessible, expectStructure } from './structure.js';

/** The first minutes of somebody who has just typed `npm start`: see, ask with one click, look behind it, find the settings. */

jest.setTimeout(240_000);

(chromiumPath === undefined ? describe.skip : describe)('the tour of a newcomer', () => {
  let open: OpenConsole;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    open = await openConsole();
    watched = await openWatchedPage(open.browser);
    ({ page } = watched);
    await page.goto(open.origin);
  });
  afterAll(() => open.stop());
  afterEach(() => expect([watched.faults, watched.foreign]).toEqual([[], []]));

  test('the start page says what this is, that answers are scripted, and what to try', async () => {
    await page.getByRole('heading', { name: 'Talk to Caribou' }).waitFor();
    await page.getByText('scripted demo', { exact: false }).first().waitFor();
    await expectStructure(page, 'welcome');
    await expectAccessible(page);
  });

  test('one click sends an example, and the answer with its tool calls appears', async () => {
    await page.getByRole('button', { name: 'List the prime numbers up to 100' }).click();
    await shows(page, 'scripted demo model of Caribou');
    await isDone(page);
    await page.getByText('bash', { exact: false }).first().waitFor();
    await expectAccessible(page);
  });

  test('the side panel shows plan, files and history', async () => {
    await page.getByRole('button', { name: 'Files, plan and history' }).click();
    for (const name of await page.getByRole('tab').allTextContents()) {
      await page.getByRole('tab', { name, exact: true }).click();
      await page.getByRole('tabpanel').waitFor();
      await expectAccessible(page);
    }
    await page.getByRole('button', { name: 'Hide the side panel' }).first().click();
  });

  test('what happened in the run is explained, and each step has an address', async () => {
    await page.getByRole('link', { name: 'Explain this run' }).last().click();
    await page.getByRole('listbox', { name: 'Steps' }).waitFor();
    await page.getByLabel('Show').selectOption('Processes');
    await expectStructure(page, 'explained-run');
    await page.getByLabel('Show').selectOption('Model calls');
    await page.getByRole('listbox', { name: 'Steps' }).getByRole('option').first().click();
    await page.getByRole('button', { name: 'Show the request as the model saw it' }).click();
    await page.getByRole('heading', { name: /^Request \d+/ }).waitFor();
    expect(page.url()).toContain('entry=');
    await expectAccessible(page);
  });

  test('settings, in the dark, by keyboard', async () => {
    await page.goto(`${open.origin}/#/settings/memory`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(page);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test('on a narrow screen nothing is wider than it', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    for (const path of ['threads', 'settings/account', 'operate/fleet', 'operate/usage']) {
      await page.goto(`${open.origin}/#/${path}`);
      await page.getByRole('heading').first().waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
      await expectAccessible(page);
    }
  });
});
