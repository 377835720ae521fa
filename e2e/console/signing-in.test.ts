import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import type { TestService } from '@caribou/testing';
import { axeFaults, findChromium, launchChromium, openWatchedPage } from '../support/chromium.js';
import { type Stack, startStack } from '../support/stack.js';

/** Signing in at the console, with accounts and with API keys, and what happens to a page whose session ends. */

jest.setTimeout(120_000);

const executablePath = findChromium();
if (executablePath === undefined) console.warn('skipped: signing in at the console (no program chromium)');

const PASSWORD = 'correct horse battery';
/** What Chromium says itself about answers such as 401. */
const REFUSED = [/Failed to load resource/];

(executablePath === undefined ? describe.skip : describe)('signing in at the console', () => {
  let stack: Stack;
  let browser: Browser;
  let withAccounts: TestService;
  let withKeys: TestService;

  beforeAll(async () => {
    stack = await startStack({ gateways: 0, runners: 0, managers: 0 });
    const config = join(stack.homeDir, 'accounts.yaml');
    await writeFile(config, 'auth: {enabled: true, local: {allow_registration: true}}\n');
    withAccounts = await stack.start('gateway', { CARIBOU_CONFIG: config });
    withKeys = await stack.start('gateway', { CARIBOU_API_KEYS: 'anns-key-1:ann:admin,bobs-key-1:bob' });
    browser = await launchChromium(executablePath ?? '');
  });
  afterAll(async () => {
    await browser.close();
    await stack.stop();
  });

  const originOf = ({ healthPort }: TestService) => `http://127.0.0.1:${healthPort}`;
  const open = async (service: TestService, path = '') => {
    const watched = await openWatchedPage(browser, { expected: REFUSED });
    await watched.page.goto(`${originOf(service)}/${path}`);
    return watched;
  };
  const anotherTab = async (context: BrowserContext): Promise<Page> => {
    const page = await context.newPage();
    await page.goto(`${originOf(withAccounts)}/#/settings`);
    await page.locator('a[aria-current=page]', { hasText: 'Settings' }).waitFor();
    return page;
  };

  async function signIn(page: Page, email: string, password = PASSWORD): Promise<void> {
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  }

  async function signOut(page: Page): Promise<void> {
    await page.getByRole('button', { name: /Account/ }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: /Sign in/ }).waitFor();
  }

  async function enterNewPassword(page: Page, { current, next }: { current: string; next: string }): Promise<Locator> {
    await page.getByRole('button', { name: /Account/ }).click();
    await page.getByRole('button', { name: 'Change password…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change password' });
    await dialog.getByLabel('Current password').fill(current);
    await dialog.getByLabel('New password').fill(next);
    await dialog.getByLabel('Password again').fill(next);
    return dialog;
  }

  describe('with accounts', () => {
    test('the first visitor becomes the administrator; a further one may register and sees no pages of administrators', async () => {
      const { page, faults } = await open(withAccounts, '#/settings');
      await page.getByText('Whoever creates this one manages Caribou').waitFor();
      expect(await axeFaults(page)).toEqual([]);
      await page.getByLabel('E-mail').fill('ann@example.org');
      await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
      await page.getByLabel('Password again').fill('another one');
      await page.getByRole('button', { name: 'Create the first administrator' }).click();
      await page.getByText('The two passwords differ.').waitFor();
      await page.getByLabel('Password again').fill(PASSWORD);
      await page.getByRole('button', { name: 'Create the first administrator' }).click();
      await page.locator('a[aria-current=page]', { hasText: 'Settings' }).waitFor();
      await page.getByRole('link', { name: 'Operate' }).waitFor();
      await signOut(page);

      await page.getByRole('button', { name: 'Create an account' }).click();
      await page.getByLabel('E-mail').fill('bob@example.org');
      await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
      await page.getByLabel('Password again').fill(PASSWORD);
      await page.getByRole('button', { name: 'Create an account' }).click();
      await page.getByRole('button', { name: /bob@example.org/ }).waitFor();
      expect(await page.getByRole('link', { name: 'Operate' }).count()).toBe(0);
      await page.goto(`${originOf(withAccounts)}/#/operate`);
      await page.getByRole('heading', { level: 1, name: 'For administrators only' }).waitFor();
      await signOut(page);
      expect(faults).toEqual([]);
      await page.context().close();
    });

    test('a wrong password says so and leaves what was entered', async () => {
      const { page } = await open(withAccounts);
      await signIn(page, 'ann@example.org', 'wrong');
      await page.getByText('E-mail or password is wrong.').waitFor();

      expect(await page.getByLabel('E-mail').inputValue()).toBe('ann@example.org');
      await page.context().close();
    });

    test('a session that ends elsewhere asks over the page and its dialog; what was entered is sent after signing in', async () => {
      const { page } = await open(withAccounts, '#/settings');
      await signIn(page, 'ann@example.org');
      const change = await enterNewPassword(page, { current: PASSWORD, next: PASSWORD });
      await signOut(await anotherTab(page.context()));
      await change.getByRole('button', { name: 'Change password' }).click();
      const dialog = page.getByRole('dialog', { name: 'Sign in again' });
      await dialog.waitFor();
      expect(await dialog.getByLabel('E-mail').inputValue()).toBe('ann@example.org');
      expect(await axeFaults(page)).toEqual([]);
      await dialog.getByLabel('Password', { exact: true }).fill(PASSWORD);
      await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
      await dialog.waitFor({ state: 'detached' });

      await change.getByText('The password is changed.').waitFor();
      await page.context().close();
    });

    test('who does not sign in again reads so, with everything still there; signing in by another tab is enough', async () => {
      const { page } = await open(withAccounts, '#/settings');
      await signIn(page, 'ann@example.org');
      const change = await enterNewPassword(page, { current: PASSWORD, next: PASSWORD });
      const other = await anotherTab(page.context());
      await signOut(other);
      await change.getByRole('button', { name: 'Change password' }).click();
      const dialog = page.getByRole('dialog', { name: 'Sign in again' });
      await dialog.waitFor();
      // Whatever has the focus, Escape closes the dialog that is on top, and only that.
      await page.evaluate(() => (document.activeElement as HTMLElement).blur());
      await page.keyboard.press('Escape');
      await page.getByText('You are signed out.').waitFor();
      expect(await change.getByLabel('Current password').inputValue()).toBe(PASSWORD);
      await change.getByRole('button', { name: 'Change password' }).click();
      await dialog.waitFor();
      await page.getByLabel('New password').evaluate((field) => field.focus());
      await page.keyboard.press('Escape');
      await page.getByText('You are signed out.').waitFor();
      expect(await change.getByLabel('New password').inputValue()).toBe(PASSWORD);
      await page.keyboard.press('Escape');
      await change.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await dialog.waitFor();
      await signIn(other, 'ann@example.org');
      await other.getByRole('button', { name: /ann@example.org/ }).waitFor();
      await page.evaluate(() => window.dispatchEvent(new Event('focus')));
      await dialog.waitFor({ state: 'detached' });
      await page.context().close();
    });

    test('another person who signs in begins with an empty page, and sends nothing of the one before', async () => {
      const { page } = await open(withAccounts, '#/settings');
      await signIn(page, 'ann@example.org');
      const change = await enterNewPassword(page, { current: PASSWORD, next: 'not of bob at all' });
      await signOut(await anotherTab(page.context()));
      await change.getByRole('button', { name: 'Change password' }).click();
      const dialog = page.getByRole('dialog', { name: 'Sign in again' });
      await dialog.getByLabel('E-mail').fill('bob@example.org');
      await dialog.getByLabel('Password', { exact: true }).fill(PASSWORD);
      await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('button', { name: /bob@example.org/ }).waitFor();

      expect(await page.getByRole('dialog').count()).toBe(0);
      await signOut(page);
      await signIn(page, 'bob@example.org');
      await page.getByRole('button', { name: /bob@example.org/ }).waitFor();
      await page.context().close();
    });

    test('a password is changed in the menu', async () => {
      const { page } = await open(withAccounts, '#/settings');
      await signIn(page, 'bob@example.org');
      const dialog = await enterNewPassword(page, { current: 'wrong', next: 'another long one' });
      await dialog.getByRole('button', { name: 'Change password' }).click();
      await dialog.getByText('The current password is wrong.').waitFor();
      await dialog.getByLabel('Current password').fill(PASSWORD);
      await dialog.getByRole('button', { name: 'Change password' }).click();
      await dialog.getByText('The password is changed.').waitFor();
      await dialog.getByRole('button', { name: 'Close' }).click();
      await signOut(page);
      await signIn(page, 'bob@example.org', 'another long one');
      await page.getByRole('button', { name: /bob@example.org/ }).waitFor();
      await page.context().close();
    });
  });

  describe('with API keys', () => {
    const enter = async (page: Page, key: string): Promise<void> => {
      await page.getByLabel('API key').fill(key);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    };

    test('a key is asked for, an unknown one is refused, and one without rights sees no pages of administrators', async () => {
      const { page, faults } = await open(withKeys, '#/operate');
      await page.getByText('This server asks for an API key.').waitFor();
      await enter(page, 'nobodys-key');
      await page.getByText('The server does not know this API key.').waitFor();
      await enter(page, 'bobs-key-1');
      await page.getByRole('heading', { level: 1, name: 'For administrators only' }).waitFor();
      expect(await page.getByRole('link', { name: 'Operate' }).count()).toBe(0);
      await page.reload();
      await page.getByRole('button', { name: /bob/ }).click();
      await page.getByRole('button', { name: 'Forget the API key' }).click();
      await enter(page, 'anns-key-1');
      await page.getByRole('link', { name: 'Operate' }).waitFor();
      expect(faults).toEqual([]);
      await page.context().close();
    });

    test('a key that is no longer valid is forgotten, and another one asked for', async () => {
      const { page } = await open(withKeys, '#/settings');
      await enter(page, 'anns-key-1');
      await page.locator('a[aria-current=page]', { hasText: 'Settings' }).waitFor();
      // At an address without a script: the page itself would use the key, ask for another one and forget it before it is loaded again.
      await page.goto(`${originOf(withKeys)}/health`);
      await page.evaluate(() => sessionStorage.setItem('caribou.api-key', 'a-revoked-key'));
      await page.goto(`${originOf(withKeys)}/#/settings`);
      await page.getByText('The API key is no longer valid').waitFor();
      expect(await page.evaluate(() => sessionStorage.getItem('caribou.api-key'))).toBeNull();
      await enter(page, 'anns-key-1');
      await page.locator('a[aria-current=page]', { hasText: 'Settings' }).waitFor();
      await page.context().close();
    });
  });
});
