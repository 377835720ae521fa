import type { Page } from 'playwright-core';
import { waitFor } from '@caribou/testing';
import { newGate } from '../sdk/calls.js';
import { openWatchedPage, type WatchedPage } from '../support/chromium.js';
import { runBody } from '../support/client.js';
import { nth } from '../support/stack.js';
import { chromiumPath, type OpenConsole, openConsole } from './open-console.js';
import { expectAccessible, expectStructure } from './structure.js';

/** At night: a runner has died and work waits. What the console says of it, until the run has ended elsewhere. */

jest.setTimeout(240_000);

(chromiumPath === undefined ? describe.skip : describe)('the tour of an engineer on call', () => {
  let open: OpenConsole;
  let watched: WatchedPage;
  let page: Page;
  let threadId: string;
  let runId: string;
  const gate = newGate();

  beforeAll(async () => {
    open = await openConsole();
    watched = await openWatchedPage(open.browser);
    ({ page } = watched);
    const client = open.stack.client();
    threadId = await client.newThread();
    const script = `#hold ${gate} before\n#say It was a long night.`;
    const { body } = await client.call<{ run_id: string }>('POST', `/threads/${threadId}/runs`, runBody(script));
    runId = body.run_id;
    await waitFor(async () => (await statusOf()) === 'running', { what: 'the run to be under way' });
  });
  afterAll(() => open.stop());
  afterEach(() => expect([watched.faults, watched.foreign]).toEqual([[], []]));

  const statusOf = async (): Promise<string> =>
    (await open.stack.client().call<{ status: string }>('GET', `/threads/${threadId}/runs/${runId}`)).body.status;

  const show = async (path: string, title: string): Promise<void> => {
    await page.goto(`${open.origin}/#/operate/${path}`);
    await page.getByRole('heading', { level: 1, name: title }).waitFor({ timeout: 30_000 });
  };

  test('the fleet shows that no runner answers any more, and the run still waits for one', async () => {
    await nth(open.stack.runners, 0).kill9();
    await show('fleet', 'Fleet');
    await page.getByText('agent-runner: none answers').or(page.getByText('lost')).first().waitFor({ timeout: 60_000 });
    await expectAccessible(page);
    await show('queues', 'Queues');
    await page.getByRole('row').filter({ hasText: 'Runs' }).first().waitFor();
    await expectAccessible(page);
  });

  test('a new runner takes the run over, and its timeline says from whom and why', async () => {
    open.stack.runners.push(await open.stack.start('agent-runner'));
    open.stack.model.release(gate);
    await waitFor(async () => (await statusOf()) === 'success', { what: 'the end of the run', timeoutMs: 60_000 });
    await page.goto(`${open.origin}/#/runs/${threadId}/${runId}`);
    await page.getByRole('option', { name: /Taken over/ }).waitFor({ timeout: 30_000 });
    await page.getByLabel('Show').selectOption('Processes');
    await page.getByRole('option', { name: /Taken over/ }).click();
    await expectStructure(page, 'taken-over-run');
    await expectAccessible(page);
  });

  test('the findings of the configuration and the audit are at hand', async () => {
    await show('configuration', 'Configuration');
    await page.getByText('durability', { exact: false }).first().waitFor({ timeout: 30_000 });
    await show('audit', 'Audit');
    await expectAccessible(page);
  });
});
