import { waitFor } from '@caribou/testing';
import { axeFaults, openWatchedPage, type WatchedPage } from '../support/chromium.js';
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

/** What a person does with conversations in the console. */

jest.setTimeout(180_000);

(chromiumPath === undefined ? describe.skip : describe)('a conversation', () => {
  let open: OpenConsole;
  let watched: WatchedPage;
  beforeAll(async () => {
    open = await openConsole({ pools: 1 });
  });
  afterAll(() => open.stop());
  beforeEach(async () => {
    watched = await openWatchedPage(open.browser);
    await watched.page.goto(open.origin);
  });
  afterEach(async () => {
    expect(watched.faults).toEqual([]);
    await watched.page.context().close();
  });

  test('is stopped, and continues with another message', async () => {
    const { page } = watched;
    await send(page, `${nonce()}\n#tokens 1000 30`);
    await shows(page, 't5 ');
    await page.getByRole('button', { name: 'Stop' }).click();
    await isDone(page);
    await page.getByText('This part was not stored').waitFor();
    await send(page, `${nonce()}\n#say After the stop`);
    await shows(page, 'After the stop');
    await isDone(page);
    const text = await answersOf(page);
    expect(text.indexOf('t5 ')).toBeLessThan(text.indexOf('After the stop'));
  });

  test('takes a message while the agent works, which joins the run', async () => {
    const { page } = watched;
    await send(page, `${nonce()}\n#tool bash {"command":"sleep 3; echo slept"}\n#say first\n#say second`);
    await page.getByText('running').first().waitFor();
    await send(page, `${nonce()}\n#say It was heard`);
    await page.getByText('Joins the work under way').waitFor();
    await shows(page, 'It was heard');
    await isDone(page);
    const labels = await page
      .locator('article')
      .evaluateAll((articles) => articles.map((article) => article.getAttribute('aria-label')));
    expect(labels).toEqual(['You', 'Agent', 'You', 'Agent']);
  });

  test('shows thoughts, the output of commands while they run, plans and subagents', async () => {
    const { page } = watched;
    await page.getByRole('checkbox', { name: 'Subagents' }).check();
    await page.getByRole('checkbox', { name: 'Plan' }).check();
    await send(
      page,
      [
        nonce(),
        '#think let me think',
        '#say Looking.',
        '#+tool bash {"command":"for i in 1 2 3 4 5 6; do echo line $i; sleep 0.5; done"}',
        '#tool write_todos {"todos":[{"content":"Look around","status":"in_progress"}]}',
        '#tool task {"description":"Look closer","prompt":"#say I have looked","subagent_type":"general-purpose"}',
        '#say All done',
      ].join('\n'),
    );
    await page.getByRole('log').getByText('line 2').waitFor({ timeout: 30_000 });
    await shows(page, 'All done');
    await isDone(page);
    await page.getByText('Subagent: Look closer').waitFor();
    await page.getByText('I have looked').first().waitFor();
    await page.getByText('Thinking', { exact: true }).first().click();
    await page.getByRole('button', { name: 'Files, plan and history' }).click();
    await page.getByRole('complementary').getByText('Look around').waitFor();
    expect(await axeFaults(page)).toEqual([]);
  });

  test('is answered again, edited and branched', async () => {
    const { page } = watched;
    const name = nonce();
    // An answer of this kind is another one each time.
    await send(page, `${name}\n#stamps 3`);
    await shows(page, 'took');
    const answer = page.locator('article[aria-label="Agent"] p').first();
    const first = await answer.innerText();
    await page.getByRole('button', { name: 'Answer again' }).click();
    await waitFor(async () => (await answer.innerText()) !== first, { what: 'another answer' });
    await isDone(page);
    await shows(page, 'took');
    expect(await page.locator('article[aria-label="Agent"]').count()).toBe(1);
    const second = await answer.innerText();
    await page.getByRole('button', { name: 'Edit message' }).click();
    await page.getByRole('textbox', { name: 'Edit message' }).fill(`${name}\n#say Another answer`);
    await page.getByRole('button', { name: 'Send again' }).click();
    await shows(page, 'Another answer');
    await isDone(page);
    await waitFor(async () => !(await answersOf(page)).includes(second), {
      what: 'the old answer to go',
    });
    const before = page.url();
    await page.getByRole('button', { name: 'Continue from here' }).click();
    await waitFor(() => page.url() !== before, { what: 'the branch to open' });
    await shows(page, 'Another answer');
    await page.getByRole('button', { name: 'Good answer' }).waitFor();
  });

  test('is rated, renamed, found by its title and deleted', async () => {
    const { page } = watched;
    await send(page, `${nonce()}\n#say Rated`);
    await shows(page, 'Rated');
    await isDone(page);
    await page.getByRole('button', { name: 'Good answer' }).click();
    await page.locator('button[aria-label="Good answer"][aria-pressed="true"]').waitFor();
    const list = page.locator('[data-scrolls="conversations"]');
    await list
      .getByRole('button', { name: /^Rename/ })
      .first()
      .click();
    await page.getByRole('textbox', { name: 'Title' }).fill('Reindeer of the north');
    await page.getByRole('button', { name: 'Save' }).click();
    await list.getByText('Reindeer of the north').waitFor();
    await page.getByRole('searchbox', { name: 'Search titles' }).fill('NORTH reindeer');
    await waitFor(async () => (await list.getByRole('listitem').count()) === 1, {
      what: 'one match',
    });
    await list.getByRole('button', { name: 'Delete “Reindeer of the north”' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No conversation has this title.').waitFor();
  });

  test('has a draft that comes back after a reload', async () => {
    const { page } = watched;
    await composerOf(page).fill('not sent yet');
    await page.reload();
    await expect(composerOf(page).inputValue()).resolves.toBe('not sent yet');
    await send(page, `${nonce()}\n#say Of this one`);
    await shows(page, 'Of this one');
    await isDone(page);
    await composerOf(page).fill('for this conversation only');
    await page.reload();
    await shows(page, 'Of this one');
    await expect(composerOf(page).inputValue()).resolves.toBe('for this conversation only');
    await page.getByRole('button', { name: 'New conversation', exact: true }).click();
    await waitFor(async () => (await composerOf(page).inputValue()) === '', {
      what: 'an empty field',
    });
  });
});
