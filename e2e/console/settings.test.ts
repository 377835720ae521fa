import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { waitFor, zipFile } from '@caribou/testing';
import { nth, type Stack, startStack } from '../support/stack.js';

/** The settings of the console in a real browser, at two gateways with sign-in. */

jest.setTimeout(120_000);

const ANN = { email: 'ann@example.org', password: 'correct horse' };
const SIGN_IN = 'auth: {enabled: true, local: {allow_registration: true}}\n';

const executablePath = findChromium();
if (executablePath === undefined) console.warn('skipped: settings in a browser (no program chromium)');
const inBrowser = executablePath === undefined ? test.skip : test;

function findChromium(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, 'chromium')).find((path) => existsSync(path));
}

let stack: Stack;
let browser: Browser;
const faults: string[] = [];

beforeAll(async () => {
  if (executablePath === undefined) return;
  stack = await startStack({ gateways: 2, runners: 0, managers: 0, config: SIGN_IN });
  // Without Chromium's own sandbox, which does not start as root and in containers: the pages are our own.
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  await waitFor(async () => (await fetch(`${addressOf(0)}/health`)).ok && (await fetch(`${addressOf(1)}/health`)).ok, {
    what: 'the gateways',
  });
  await fetch(`${addressOf(0)}/api/v1/auth/initialize`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ANN),
  });
});

afterAll(async () => {
  if (executablePath === undefined) return;
  await browser.close();
  await stack.stop();
});

afterEach(() => expect(faults.splice(0)).toEqual([]));

const addressOf = (gateway: number): string => {
  const { host, healthPort } = nth(stack.gateways, gateway);
  return `http://${host}:${healthPort}`;
};

/** A browser in which Ann has signed in. */
async function signIn(gateway = 0): Promise<BrowserContext> {
  const context = await browser.newContext();
  const form = { username: ANN.email, password: ANN.password, remember_me: 'true' };
  const answer = await context.request.post(`${addressOf(gateway)}/api/v1/auth/login/local`, { form });
  expect(answer.status()).toBe(200);
  return context;
}

/** A page of the settings. What the browser complains of, such as a breach of the content policy, fails the test. */
async function open(context: BrowserContext, path: string, gateway = 0): Promise<Page> {
  const page = await context.newPage();
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    // Refusals that a test provokes are logged by the browser as well.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text());
  });
  await page.goto(`${addressOf(gateway)}/#/settings/${path}`);
  return page;
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const dialog = (page: Page) => page.getByRole('dialog');

describe('settings', () => {
  inBrowser('facts are added, found, shown as plain text, and erased after the phrase was typed', async () => {
    const page = await open(await signIn(), 'memory');
    for (const text of ['Lives in Oslo <img src=x onerror=alert(1)>', 'Prefers metric units']) {
      await button(page, 'New fact').click();
      await page.getByLabel('Fact', { exact: true }).fill(text);
      await button(page, 'Save').click();
      await dialog(page).waitFor({ state: 'detached' });
    }
    await page.getByLabel('Text in the fact').fill('oslo');
    await page.getByText('1 of 2 facts').waitFor();
    expect(await page.locator('li > div > p').allTextContents()).toEqual([
      'Lives in Oslo <img src=x onerror=alert(1)>',
    ]);

    await button(page, 'Erase all memories…').click();
    expect(await button(page, 'Erase').isDisabled()).toBe(true);
    await page.getByLabel(/^Type/).fill('Erase everything');
    await button(page, 'Erase').click();
    await page.getByText('0 of 0 facts').waitFor();
    await page.context().close();
  });

  inBrowser('unsaved edits are asked about before the page is left, and not after they were saved', async () => {
    const page = await open(await signIn(), 'profile');
    await page.getByLabel('About you').fill('A carpenter');
    await page.getByRole('link', { name: 'Skills' }).click();
    await button(page, 'Stay here').click();
    expect(await page.getByLabel('About you').inputValue()).toBe('A carpenter');
    await button(page, 'Save').click();
    await page.getByText('Saved.').waitFor();
    await page.getByRole('link', { name: 'Skills' }).click();
    await page.getByRole('heading', { name: 'Install a skill' }).waitFor();
    await page.getByRole('link', { name: 'Profile' }).click();
    await page.getByLabel('About you').waitFor();
    expect(await page.getByLabel('About you').inputValue()).toBe('A carpenter');
    await page.context().close();
  });

  inBrowser('a skill is installed from an archive, switched off and deleted', async () => {
    const page = await open(await signIn(), 'skills');
    const buffer = await zipFile({ 'SKILL.md': '---\nname: knots\ndescription: Ties knots.\n---\n# How\n' });
    const choose = async (name: string): Promise<void> =>
      page.locator('input[type=file]').setInputFiles({ name, mimeType: 'application/zip', buffer });
    await choose('knots.zip');
    await page.getByText('The name of the file must end in .skill.').waitFor();
    await choose('knots.skill');
    await page.getByText('“knots” is installed and on.').waitFor();

    await page.getByLabel('Use knots').click();
    await waitFor(async () => !(await page.getByLabel('Use knots').isChecked()), { what: 'the switch' });
    await button(page, 'Delete').click();
    await dialog(page).getByRole('button', { name: 'Delete' }).click();
    await page.getByLabel('Use knots').waitFor({ state: 'detached' });
    await page.context().close();
  });

  inBrowser('of two windows that change an agent the second sees both versions and chooses', async () => {
    const context = await signIn();
    const page = await open(context, 'agents/new');
    await page.getByLabel('Name', { exact: true }).fill('new');
    await page.getByText('This name is taken or reserved.').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('Poet');
    await page.getByText('“poet” is free.').waitFor();
    await button(page, 'Create').click();
    await page.getByRole('heading', { name: 'Agent poet' }).waitFor();

    const other = await open(context, 'agents/poet', 1);
    await other.getByLabel('Soul').fill('Rhyme.');
    await page.getByLabel('Soul').fill('Be brief.');
    await button(page, 'Save').click();
    await page.getByText('Saved.').waitFor();
    await button(other, 'Save').click();
    await dialog(other).getByText('Be brief.').waitFor();
    expect(await dialog(other).getByText('Rhyme.').count()).toBe(1);
    await button(other, 'Save mine over it').click();
    await dialog(other).waitFor({ state: 'detached' });
    await page.reload();
    await page.getByText('Rhyme.').waitFor();
    await context.close();
  });

  inBrowser(
    'what is wrong with an MCP server is said at the field, and a masked secret comes back unchanged',
    async () => {
      const page = await open(await signIn(), 'mcp');
      await button(page, 'Add a server').click();
      await page.getByLabel('Name', { exact: true }).fill('events');
      const json = page.getByLabel('Server as JSON');
      await json.fill('{\n  "type": "http",\n}');
      await page.getByText('This is not JSON: see line 3.').waitFor();
      await json.fill('{\n  "type": "http",\n  "url": "ftp://events.example.org"\n}');
      await button(page, 'Save').click();
      await page.getByText(/^Line 3: url: /).waitFor();
      await json.fill(
        '{"type": "http", "url": "https://events.example.org/mcp", "enabled": false, "headers": {"A": "secret"}}',
      );
      await button(page, 'Save').click();
      await dialog(page).waitFor({ state: 'detached' });

      await button(page, 'Edit').click();
      const shown = await json.inputValue();
      expect(shown).toContain('"A": "********"');
      await json.fill(shown.replace('"enabled": false', '"enabled": false, "description": "Events"'));
      await button(page, 'Save').click();
      await dialog(page).waitFor({ state: 'detached' });
      await page.getByLabel('Use events').click();
      await waitFor(() => page.getByLabel('Use events').isChecked(), { what: 'the switch' });
      await page.context().close();
    },
  );

  inBrowser('a session that is ended in one browser is over in the other, at another gateway', async () => {
    const [here, there] = [await signIn(0), await signIn(1)];
    const page = await open(here, 'account');
    await button(page, 'End all others…').click();
    await dialog(page).getByRole('button', { name: 'End', exact: true }).click();
    await page.getByText(/ended\.$/).waitFor();

    expect((await there.request.get(`${addressOf(1)}/api/v1/auth/me`)).status()).toBe(401);
    expect((await here.request.get(`${addressOf(1)}/api/v1/auth/me`)).status()).toBe(200);
    await Promise.all([here.close(), there.close()]);
  });

  inBrowser('a task is made in plain fields, paused and deleted', async () => {
    const page = await open(await signIn(), 'schedules');
    await button(page, 'New task').click();
    await page.getByLabel('Title').fill('News');
    await page.getByLabel('What the agent has to do').fill('Read the news');
    await page.getByLabel('When').selectOption('weekly');
    await page.getByLabel('Time', { exact: true }).fill('07:30');
    await page.getByLabel('Time zone').fill('Europe/Nowhere');
    await button(page, 'Create').click();
    await dialog(page).getByRole('alert').waitFor();
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    await button(page, 'Create').click();
    await page.getByText(/^30 7 \* \* 1 · Europe\/Berlin/).waitFor();
    await button(page, 'Pause').click();
    await button(page, 'Resume').waitFor();
    await button(page, 'Delete').click();
    await dialog(page).getByRole('button', { name: 'Delete' }).click();
    await page.getByText('There are no tasks yet.').waitFor();
    await page.context().close();
  });

  inBrowser('a user erases everything; the account and its session are gone', async () => {
    const context = await browser.newContext();
    const email = 'bob@example.org';
    const registered = await context.request.post(`${addressOf(0)}/api/v1/auth/register`, {
      data: { email, password: 'a long password' },
    });
    expect(registered.status()).toBe(201);
    const page = await open(context, 'account');
    await button(page, 'Erase everything').click();
    await page.getByLabel(/^Type/).fill('erase all my data');
    await dialog(page).getByRole('button', { name: 'Erase everything' }).click();
    await waitFor(async () => (await context.request.get(`${addressOf(1)}/api/v1/auth/me`)).status() === 401, {
      what: 'the end of the session',
    });
    const form = { username: email, password: 'a long password', remember_me: 'true' };
    expect((await context.request.post(`${addressOf(0)}/api/v1/auth/login/local`, { form })).status()).toBe(401);
    await context.close();
  });
});
