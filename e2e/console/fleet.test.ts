import type { FleetReply, SandboxesReply } from '@caribou/contracts';
import { createRedis, type RedisConnection } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import type { Browser, Page } from 'playwright-core';
import { findChromium, launchChromium, openWatchedPage } from '../support/chromium.js';
import { runBody } from '../support/client.js';
import { nth, type Stack, startStack } from '../support/stack.js';
import { originOf } from './open-console.js';
import { expectAccessible } from './structure.js';

/** What an operator sees of the running system and does to it, in the console and over the API, with real processes. */

jest.setTimeout(180_000);

const executablePath = findChromium();
if (executablePath === undefined) console.warn('skipped: the console in a browser (no program chromium)');

/** Where screenshots are written, when somebody wants to look at them. */
const shots = process.env['CARIBOU_SHOTS'];

/** The Redis of the test has no maxmemory, which gateways report. */
const isOfTest = ({ name }: { readonly name: string }): boolean => name === 'durability';

(executablePath === undefined ? describe.skip : describe)('the pages of the fleet', () => {
  let stack: Stack;
  let browser: Browser;
  let page: Page;
  let faults: readonly string[];
  let redis: RedisConnection;

  beforeAll(async () => {
    stack = await startStack({ runners: 2, pools: 1 });
    redis = createRedis({ url: stack.redis.url });
    browser = await launchChromium(executablePath ?? '');
    ({ page, faults } = await openWatchedPage(browser));
  });
  afterAll(async () => {
    await browser.close();
    await redis.close();
    await stack.stop();
  });

  const open = async (path: string, title: string): Promise<void> => {
    await page.goto(`${originOf(stack)}/#/operate/${path}`);
    await page.getByRole('heading', { level: 1, name: title }).waitFor({ timeout: 30_000 });
  };
  const shoot = async (name: string): Promise<void> => {
    if (shots !== undefined) await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
  };
  const fleet = async () => (await stack.client().call<FleetReply>('GET', '/admin/fleet')).body;
  const sandboxes = async () => (await stack.client().call<SandboxesReply>('GET', '/admin/sandboxes')).body;

  test('every process is listed; one that hangs is silent and comes first, and is back after it', async () => {
    const all = await waitFor(
      async () => {
        const { processes } = await fleet();
        return processes.length === 5 && processes.every(({ problems }) => problems.every(isOfTest)) && processes;
      },
      { what: 'five processes that are ready' },
    );
    expect(all.map(({ service, pid }) => [service, pid])).toEqual([
      ['gateway', nth(stack.gateways, 0).pid],
      ['agent-runner', expect.any(Number)],
      ['agent-runner', expect.any(Number)],
      ['sandbox-manager', nth(stack.managers, 0).pid],
      ['subagent-pool', nth(stack.pools, 0).pid],
    ]);
    await open('fleet', 'Fleet');
    const runners = page.getByRole('region', { name: 'Agent runners' }).last();
    await runners.getByText('ready').nth(1).waitFor();
    await shoot('fleet');
    await expectAccessible(page);

    const hung = nth(stack.runners, 1);
    hung.pause();
    try {
      const [silent] = await waitFor(
        async () => {
          const reply = await fleet();
          return reply.silent.length > 0 && reply.silent;
        },
        { what: 'the silent process' },
      );
      expect(silent?.service).toBe('agent-runner');
      expect(all.find(({ id }) => id === silent?.id)?.pid).toBe(hung.pid);
      const first = runners.getByRole('row').nth(1);
      await first.getByText(/^(silent|lost)$/).waitFor({ timeout: 30_000 });
      await shoot('fleet-silent');
    } finally {
      hung.resume();
    }
    await waitFor(async () => (await fleet()).silent.length === 0, { what: 'the process to answer again' });
    await runners.getByText('ready').nth(1).waitFor({ timeout: 30_000 });
  });

  test('a sandbox is ended while its command runs: the run is told, and goes on in a fresh one', async () => {
    const client = stack.client();
    const threadId = await client.newThread();
    const script = [
      '#tool bash {"command":"echo precious > file; sleep 300"}',
      '#tool bash {"command":"cat file"}',
      '#say finished',
    ].join('\n');
    const { body: run } = await client.call<{ run_id: string }>('POST', `/threads/${threadId}/runs`, runBody(script));
    await waitFor(async () => (await sandboxes()).sandboxes.some(({ commands }) => commands.length > 0), {
      what: 'the command in its sandbox',
    });
    await open('sandboxes', 'Sandboxes');
    await page.getByLabel('User id').fill('nobody-else');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByText('No sandbox is alive.').waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.getByText(`${run.run_id}:`).waitFor();
    await shoot('sandboxes');
    await expectAccessible(page);

    await page.getByRole('button', { name: `End the sandbox of thread ${threadId}` }).click();
    await page.getByRole('dialog').waitFor();
    await shoot('sandboxes-end');
    await page.getByRole('dialog').getByRole('button', { name: 'End', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached', timeout: 30_000 });

    await waitFor(
      async () =>
        (await client.call<{ status: string }>('GET', `/threads/${threadId}/runs/${run.run_id}`)).body.status ===
        'success',
      { what: 'the end of the run', timeoutMs: 60_000 },
    );
    const { body } = await client.call('GET', `/threads/${threadId}/state`);
    const text = JSON.stringify(body);
    expect(text).toContain('an administrator ended the sandbox while this ran');
    expect(text).toContain('precious');
    expect(text).toContain('finished');
  });

  test('an open circuit is closed, with a confirmation', async () => {
    const [model] = (
      await stack.client().call<{ models: { provider: string; model: string }[] }>('GET', '/admin/models')
    ).body.models;
    if (model === undefined) throw new Error('no model is configured');
    const { circuit } = redis.keys.model(model);
    const opened = { failures: 5, open_until: Date.now() + 600_000 };
    await redis.use((client) => client.hset(circuit, opened));
    await open('models', 'Models');
    await page.getByText('open', { exact: true }).waitFor();
    await shoot('models');
    await expectAccessible(page);

    await page
      .getByRole('button', { name: /Close circuit of/ })
      .first()
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Close circuit' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByText('closed', { exact: true }).first().waitFor();
    expect(await redis.use((client) => client.exists(circuit))).toBe(0);
  });

  test('queues have figures, charts and the same as a table', async () => {
    await open('queues', 'Queues');
    await page
      .getByRole('img', { name: /Runs: 0 waiting now/ })
      .locator('canvas')
      .waitFor({ timeout: 30_000 });
    await page.getByText('The same as a table').click();
    await page.getByRole('table').nth(1).waitFor();
    await shoot('queues');
    await expectAccessible(page);

    await page.setViewportSize({ width: 360, height: 740 });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    await shoot('queues-narrow');
    expect(overflow).toBeLessThanOrEqual(0);
    expect(faults).toEqual([]);
  });
});
