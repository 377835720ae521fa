import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { waitFor } from '@caribou/testing';
import { axeFaults, findChromium, launchChromium, openWatchedPage, type WatchedPage } from '../support/chromium.js';
import { type ApiClient, runBody } from '../support/client.js';
import { callLine, tee } from '../support/approval-tools.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';

/** What a person does in the side panel of a conversation and with the cards that ask, in a real browser. */

jest.setTimeout(120_000);

const executablePath = findChromium();
if (executablePath === undefined) console.warn('skipped: the side panel in a browser (no program chromium)');

const configFor = (objects: string): string => `files:
  store: {folder: {path: ${objects}, durable: false}}
approvals:
  rules: [{id: slow, tools: [ls], expires_after_seconds: 12}]
command_rules:
  rules: [{id: tees, verdict: ask, match: {commands: [tee]}, message: writes on}]
`;

let stack: Stack;
let objects: string;
let browser: Browser;
let client: ApiClient;
let opened: WatchedPage | undefined;

(executablePath === undefined ? describe.skip : describe)('the side panel of a conversation', () => {
  beforeAll(async () => {
    objects = await mkdtemp(join(tmpdir(), 'caribou-objects-'));
    stack = await startStack({ config: configFor(objects) });
    client = stack.client();
    browser = await launchChromium(executablePath ?? '');
  });

  afterAll(async () => {
    await browser.close();
    await stack.stop();
    await rm(objects, { recursive: true, force: true });
  });

  afterEach(async () => {
    const { faults = [], foreign = [] } = opened ?? {};

    await opened?.page.context().close();
    opened = undefined;
    expect([faults, foreign]).toEqual([[], []]);
  });

  async function open(threadId: string, expected: readonly RegExp[] = []): Promise<Page> {
    opened = await openWatchedPage(browser, { expected, permissions: [] });
    const { page } = opened;
    await page.goto(`http://127.0.0.1:${nth(stack.gateways, 0).healthPort}/#/threads/${threadId}`);
    return page;
  }

  async function openTab(page: Page, name: string): Promise<void> {
    await page.getByRole('button', { name: 'Files, plan and history' }).click();
    const tab = page.getByRole('tab', { name, exact: true });
    await tab.waitFor();
    await tab.click();
    await page.getByRole('tabpanel', { name, exact: true }).waitFor();
  }

  /** Starts a run and waits for its end, or until it waits for a person. */
  async function run(threadId: string, script: string): Promise<void> {
    const { status } = await client.call('POST', `/threads/${threadId}/runs/wait`, runBody(`${nonce()}\n${script}`));
    expect(status).toBe(200);
  }

  const fileOf = async (threadId: string, path: string): Promise<string> => {
    const answer = await fetch(`${client.base}/threads/${threadId}/artifacts/mnt/user-data/${path}`);
    return answer.status === 200 ? answer.text() : `status ${answer.status}`;
  };

  const isIdle = async (threadId: string): Promise<boolean> =>
    (await client.call<{ status: string }>('GET', `/threads/${threadId}`)).body.status === 'idle';

  const messagesOf = async (threadId: string): Promise<readonly { type: string; content: string }[]> => {
    const { body } = await client.call<{ values: { messages: { type: string; content: string }[] } }>(
      'GET',
      `/threads/${threadId}/state`,
    );
    return body.values.messages;
  };

  test('a person edits the arguments of a call and approves it: it is executed as edited, once', async () => {
    const threadId = await client.newThread();
    await run(threadId, `${tee('first')}\n#say It is written.`);
    const page = await open(threadId);
    await page.getByRole('heading', { name: 'May the agent call bash?' }).waitFor();
    expect(await axeFaults(page)).toEqual([]);

    await page.getByRole('button', { name: 'Edit arguments' }).click();
    const editor = page.getByLabel('Arguments as JSON');
    const before = await editor.inputValue();
    await editor.fill(before.replace('"command"', '"comand"'));
    await page.getByRole('button', { name: 'Approve with these arguments' }).click();
    await page.getByText('args.command: is needed').waitFor();
    expect(await page.getByText(/args\.comand: the tool has no such argument/).count()).toBe(1);

    await editor.fill(before.replace('echo first', 'echo edited'));
    await page.getByRole('button', { name: 'Approve with these arguments' }).dblclick();
    await waitFor(() => isIdle(threadId), { what: 'the run with the decision' });

    expect(await fileOf(threadId, 'workspace/ledger')).toBe('edited\n');
    const { body: runs } = await client.call<unknown[]>('GET', `/threads/${threadId}/runs`);
    expect(runs).toHaveLength(2);
    await page.getByRole('heading', { name: 'May the agent call bash?' }).waitFor({ state: 'detached' });
  });

  test('several calls get a decision each, which are sent together', async () => {
    const threadId = await client.newThread();
    await run(threadId, `${tee('one')}\n${tee('two').replace('#tool', '#+tool')}\n#say Done.`);
    const page = await open(threadId);
    const cards = page.locator('[data-interrupt]');
    await cards.nth(1).waitFor();
    const send = page.getByRole('button', { name: 'Send 2 decisions' });
    await cards.filter({ hasText: 'echo one' }).getByRole('button', { name: 'Approve' }).click();
    const second = cards.filter({ hasText: 'echo two' });
    await second.getByRole('button', { name: 'Reject' }).click();
    await second.getByLabel('Reason, which the agent reads (optional)').fill('one is enough');
    await send.click();
    await waitFor(() => isIdle(threadId), { what: 'the run with both decisions' });

    expect(await fileOf(threadId, 'workspace/ledger')).toBe('one\n');
    expect(JSON.stringify(await messagesOf(threadId))).toContain('one is enough');
  });

  test('when another page was faster, the card says so, and the call is executed once', async () => {
    const threadId = await client.newThread();
    await run(threadId, `${tee('contested')}\n#say Done.`);
    const page = await open(threadId, [/409/]);
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    const isStart = (url: URL): boolean => /\/threads\/[^/]+\/runs(\/stream)?$/.test(url.pathname);
    await page.route(isStart, async (route) => {
      if (route.request().method() === 'POST') {
        const { body } = await client.call<{ interrupt_id: string }[]>('GET', `/threads/${threadId}/approvals`);
        const path = `/threads/${threadId}/approvals/${nth(body, 0).interrupt_id}`;
        expect((await client.call('POST', path, { type: 'approve' })).status).toBe(200);
      }
      await route.continue();
    });
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByText(/This was decided elsewhere/).waitFor();
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor({ state: 'detached' });
    await waitFor(() => isIdle(threadId), { what: 'the run with the decision' });
    expect(await fileOf(threadId, 'workspace/ledger')).toBe('contested\n');
  });

  test('a card counts down to its deadline and is gone when that has decided', async () => {
    const threadId = await client.newThread();
    await run(threadId, `${callLine('ls', { description: 'a test', path: '/mnt/user-data/workspace' })}\n#say Late.`);
    const page = await open(threadId);
    await page.getByText(/Decide within .* After that the call is rejected\./).waitFor();
    await page.getByRole('heading', { name: 'May the agent call ls?' }).waitFor({ state: 'detached' });
    await waitFor(() => isIdle(threadId), { what: 'the decision of the deadline' });
    expect((await messagesOf(threadId)).at(-1)?.content).toBe('Late.');
  });

  test('characters that cannot be seen are shown in what is asked', async () => {
    const threadId = await client.newThread();
    await run(threadId, `${tee('pay\u202Enomed\u202C')}\n#say Done.`);
    const page = await open(threadId);
    await page.getByText(/cannot be seen or that change the order/).waitFor();
    await page.locator('[data-interrupt] mark').first().waitFor();
    expect(await page.locator('[data-interrupt] mark').first().textContent()).toBe('U+202E');
    await page.getByRole('button', { name: 'Reject' }).click();
    await page.getByRole('button', { name: 'Reject this call' }).click();
    await waitFor(() => isIdle(threadId), { what: 'the rejected run' });
    expect(await fileOf(threadId, 'workspace/ledger')).toBe('status 404');
  });

  test('a question is answered by one of its options', async () => {
    const threadId = await client.newThread();
    const question = { question: 'Which color?', clarification_type: 'missing_info', options: ['red', 'blue'] };
    await run(threadId, callLine('ask_clarification', question));
    const page = await open(threadId);
    await page.getByRole('button', { name: 'blue' }).click();
    await waitFor(async () => (await messagesOf(threadId)).some(({ content }) => content === 'blue'), {
      what: 'the answer in the conversation',
    });
    await page.getByRole('button', { name: 'blue' }).waitFor({ state: 'detached' });
  });

  test('a file that is dropped is uploaded and seen by the agent; a folder is refused with a reason', async () => {
    const threadId = await client.newThread();
    await run(threadId, '#say Hello.');
    const page = await open(threadId);
    await openTab(page, 'Files');
    const target = page.locator('[data-drop]');
    await target.waitFor();
    const dropped = await page.evaluateHandle(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(['the secret is 42'], 'notes.txt', { type: 'text/plain' }));
      return transfer;
    });
    await target.dispatchEvent('drop', { dataTransfer: dropped });
    const uploads = page.getByRole('list', { name: 'Uploads', exact: true });
    await uploads.getByText('notes.txt').waitFor();
    await page.getByText('uploaded', { exact: true }).waitFor();
    expect(await fileOf(threadId, 'uploads/notes.txt')).toBe('the secret is 42');

    await target.evaluate((element) => {
      const folder = {
        kind: 'file',
        webkitGetAsEntry: () => ({ name: 'photos', isDirectory: true }),
        getAsFile: () => null,
      };
      const event = new Event('drop', { bubbles: true, cancelable: true });
      Object.defineProperty(event, 'dataTransfer', { value: { items: [folder] } });
      element.dispatchEvent(event);
    });
    await page.getByText('“photos” is a folder. Drop the files in it instead.').waitFor();

    await run(threadId, '#echo-messages');
    expect((await messagesOf(threadId)).at(-1)?.content).toContain('notes.txt');

    await uploads.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Nothing has been uploaded.').waitFor();
    expect(await fileOf(threadId, 'uploads/notes.txt')).toBe('status 404');
  });

  test('presented files are shown as what they are, and nothing in them is executed', async () => {
    const threadId = await client.newThread();
    const outputs = '/mnt/user-data/outputs';
    const write = (name: string, content: string): string =>
      callLine('write_file', { description: 'a test', path: `${outputs}/${name}`, content });
    const script = "<script>parent.document.title='executed'; document.title='executed'</script>";
    await run(
      threadId,
      [
        write('page.html', `<h1>Report</h1>${script}`),
        write(
          'logo.svg',
          `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">${script}<rect width="20" height="20"/></svg>`,
        ),
        write('plain.txt', 'first line\nsecond line'),
        callLine('present_files', {
          filepaths: ['page.html', 'logo.svg', 'plain.txt'].map((name) => `${outputs}/${name}`),
        }),
        '#say Done.',
      ].join('\n'),
    );
    const page = await open(threadId, [/Blocked script execution/, /Content Security Policy/, /412/]);
    await openTab(page, 'Files');
    const presented = page.getByRole('list', { name: 'Presented files' });

    await presented.getByRole('button', { name: 'outputs/logo.svg' }).click();
    await page.waitForFunction(
      () => (document.querySelector('dialog img, [role=dialog] img') as HTMLImageElement)?.naturalWidth === 20,
    );
    await page.keyboard.press('Escape');

    await presented.getByRole('button', { name: 'outputs/page.html' }).click();
    await page.frameLocator('iframe').getByRole('heading', { name: 'Report' }).waitFor();
    expect(await page.title()).not.toContain('executed');
    await page.keyboard.press('Escape');

    await presented.getByRole('button', { name: 'outputs/plain.txt' }).click();
    await page.getByRole('dialog').getByText('second line').waitFor();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const editor = page.getByLabel('Content of plain.txt');
    await editor.fill('mine');
    const change = callLine('bash', { description: 'a test', command: `echo of the agent > ${outputs}/plain.txt` });
    await run(threadId, `${change}\n#say Changed.`);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(/was changed since you opened it/).waitFor();
    expect(await fileOf(threadId, 'outputs/plain.txt')).toBe('of the agent\n');
    await page.getByRole('button', { name: 'Replace it with mine' }).click();
    await page.getByText('Saved.').waitFor();
    expect(await fileOf(threadId, 'outputs/plain.txt')).toBe('mine');
  });

  test('a step of the history is looked at, its files are brought back, and a run continues from it', async () => {
    const threadId = await client.newThread();
    const path = '/mnt/user-data/outputs/a.txt';
    const write = (content: string): string =>
      callLine('bash', { description: 'a test', command: `echo ${content} > ${path}` });
    await run(threadId, `${write('one')}\n#say First answer.`);
    await run(threadId, `${write('two')}\n#say Second answer.`);
    const page = await open(threadId);
    await openTab(page, 'History');
    const steps = page.getByRole('region', { name: 'Steps, the newest first' });
    await steps.getByText('end of a turn').nth(1).click();

    await page.getByText('First answer.').first().waitFor();
    await page.getByLabel('Compare').selectOption({ label: 'This step with the files of now' });
    await page.getByText('Show lines').click();
    await page
      .getByRole('region', { name: 'Changed lines of /mnt/user-data/outputs/a.txt' })
      .getByText('two')
      .waitFor();
    await page.getByRole('button', { name: 'Bring back as it was before' }).click();
    await page.getByText('was brought back').waitFor();
    expect(await fileOf(threadId, 'outputs/a.txt')).toContain('one');

    await page.getByRole('button', { name: 'State as JSON' }).click();
    await page
      .getByRole('region', { name: 'State', exact: true })
      .getByText(/messages/)
      .waitFor();
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'Continue from here', exact: true }).click();
    await page.getByLabel('Your message', { exact: true }).fill('#say Another way.');
    await page.getByRole('button', { name: 'Start' }).click();
    await waitFor(async () => (await messagesOf(threadId)).some(({ content }) => content === 'Another way.'), {
      what: 'the answer on the branch',
    });
    const texts = (await messagesOf(threadId)).map(({ content }) => content);
    expect(texts).toContain('First answer.');
    expect(texts).not.toContain('Second answer.');
  });

  test('a goal is set and removed, usage is shown, and tabs are reached by keyboard', async () => {
    const threadId = await client.newThread();
    await run(threadId, '#usage 1200 34\n#say Hello.');
    const page = await open(threadId);
    await openTab(page, 'Plan');
    await page.getByRole('button', { name: 'Set goal' }).click();
    await page.getByLabel('What is to be reached').fill('All tests pass.');
    await page.getByRole('button', { name: 'Set goal' }).click();
    await page.getByText(/continued by itself 0 of/).waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Remove goal' }).click();
    await page.getByText('No goal is set.').waitFor();

    await page.getByRole('tab', { name: 'Plan' }).focus();
    await page.keyboard.press('End');
    await page.getByText(/Input 1,200/).waitFor();
    expect(await axeFaults(page)).toEqual([]);
  });
});
