import type { Browser, Page } from 'playwright-core';
import { waitFor } from '@caribou/testing';
import { findChromium, launchChromium, openWatchedPage, type WatchedPage } from '../support/chromium.js';
import { type Stack, startStack } from '../support/stack.js';
import { originOf } from './open-console.js';
import { expectAccessible } from './structure.js';

/** The pages of API keys and users: what an administrator does there holds at every gateway. */

jest.setTimeout(240_000);

const executablePath = findChromium();
if (executablePath === undefined) console.warn('skipped: the console in a browser (no program chromium)');

const ANN = { email: 'ann@example.org', password: 'correct horse' };
const BOB = { email: 'bob@example.org', password: 'hunter2hunter2' };

(executablePath === undefined ? describe.skip : describe)('keys and users in the console', () => {
  let stack: Stack;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    const config = 'auth: {enabled: true, local: {allow_registration: true}}\n';
    stack = await startStack({ gateways: 2, managers: 1, config });
    browser = await launchChromium(executablePath ?? '');
    watched = await openWatchedPage(browser);
    ({ page } = watched);
    const made = await page.context().request.post(`${originOf(stack)}/api/v1/auth/initialize`, { data: ANN });
    expect(made.status()).toBe(201);
  });
  afterAll(async () => {
    await browser.close();
    await stack.stop();
  });
  afterEach(() => expect([watched.faults, watched.foreign]).toEqual([[], []]));

  const open = async (path: string, title: string): Promise<void> => {
    await page.goto(`${originOf(stack)}/#/operate/${path}`);
    await page.getByRole('heading', { level: 1, name: title }).waitFor({ timeout: 30_000 });
  };
  const press = (name: string | RegExp): Promise<void> => page.getByRole('button', { name, exact: true }).click();
  const row = (text: string) => page.getByRole('row').filter({ hasText: text });
  const statusOf = async (key: string, gateway: number): Promise<number> =>
    (await fetch(`${originOf(stack, gateway)}/api/v1/auth/me`, { headers: { 'x-api-key': key } })).status;
  const statuses = async (key: string) => [await statusOf(key, 0), await statusOf(key, 1)];
  async function secret(): Promise<string> {
    const value = await page.getByRole('textbox', { name: 'Secret' }).inputValue();
    await press('I have stored it');
    return value;
  }

  test('a key is created, shown once, rotated and revoked', async () => {
    await open('keys', 'API keys');
    await page.getByText('There are no API keys.').waitFor();
    await press('New key…');
    await press('Create key');
    await page.getByText('Give the key a name.').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Name', { exact: true }).fill('nightly report');
    await page.getByLabel('Role', { exact: true }).selectOption('administrator');
    await page.getByText('A key of an administrator may read').waitFor();
    await press('Create key');
    await page.getByRole('heading', { name: 'The secret of nightly report' }).waitFor();
    await expectAccessible(page);
    const first = await secret();
    expect([first, await statuses(first)]).toEqual([expect.stringMatching(/^cbu_[\w-]{43}$/), [200, 200]]);
    expect(await page.content()).not.toContain(first);
    await waitFor(async () => (await row('nightly report').textContent())?.includes('active') === true, {
      what: 'the key in the table',
    });

    await press('Rotate… nightly report');
    await press('Make a new secret');
    await page.getByRole('heading', { name: 'The secret of nightly report' }).waitFor();
    const second = await secret();
    expect([await statuses(first), await statuses(second)]).toEqual([
      [401, 401],
      [200, 200],
    ]);

    await press('Revoke… nightly report');
    await expectAccessible(page);
    await press('Revoke key');
    await row('nightly report').getByText('revoked').waitFor();
    expect(await statuses(second)).toEqual([401, 401]);
    expect(await page.getByRole('button', { name: 'Revoke… nightly report' }).count()).toBe(0);
  });

  test('a user gets another role, is signed out and erased', async () => {
    const context = await browser.newContext();
    const asBob = (gateway: number) => context.request.get(`${originOf(stack, gateway)}/api/v1/auth/me`);
    await context.request.post(`${originOf(stack)}/api/v1/auth/register`, { data: BOB });
    await open('users', 'Users');
    await row(BOB.email).waitFor();
    await expectAccessible(page);

    await press(`Make administrator… ${BOB.email}`);
    await press('Change role');
    await row(BOB.email).getByText('administrator', { exact: true }).waitFor();
    expect(((await (await asBob(1)).json()) as { system_role: string }).system_role).toBe('admin');
    await press(`Make user… ${BOB.email}`);
    await press('Change role');
    await row(BOB.email).getByText('user', { exact: true }).waitFor();

    await press(`Sign out… ${BOB.email}`);
    await press('End sessions');
    await page.getByText(`One session of ${BOB.email} was ended.`).waitFor();
    expect((await asBob(1)).status()).toBe(401);

    await press(`Erase… ${BOB.email}`);
    const erase = page.getByRole('button', { name: 'Erase user', exact: true });
    expect(await erase.isDisabled()).toBe(true);
    await page.getByRole('dialog').getByRole('textbox').fill(BOB.email);
    await expectAccessible(page);
    await erase.click();
    await row(BOB.email).waitFor({ state: 'detached' });
    await context.close();
  });

  test('the last administrator is refused, and the pages fit a narrow window', async () => {
    await open('users', 'Users');
    await press(/^Make user… ann@/);
    const expected = page.getByText('this is the last administrator');
    const failure = watched.faults.length;
    await press('Change role');
    await expected.waitFor();
    await press('Cancel');
    // The browser reports each answer of an error to its console.
    expect(watched.faults.splice(failure)).toEqual([expect.stringContaining('409')]);

    await page.setViewportSize({ width: 360, height: 720 });
    for (const [path, title] of [
      ['keys', 'API keys'],
      ['users', 'Users'],
    ] as const) {
      await open(path, title);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
      await expectAccessible(page);
    }
  });
});
