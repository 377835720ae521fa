import type { Browser } from 'playwright-core';
import { waitFor } from '@caribou/testing';
import { type Balancer, startBalancer } from '../protocol/browser/balancer.js';
import { newGate } from '../sdk/calls.js';
import { findChromium, launchChromium, openWatchedPage } from '../support/chromium.js';
import { nth, type Stack, startStack } from '../support/stack.js';
import { composerOf, settles } from './pages.js';

/** Processes are killed while the page streams: the answer is continued in the page, once, and the timeline shows the takeover. */

jest.setTimeout(180_000);

const executablePath = findChromium();
if (executablePath === undefined) console.warn('skipped: the console in a browser (no program chromium)');

/** What Chromium says itself when a connection breaks or is refused. */
const BROKEN = [/Failed to load resource: net::ERR_/, /WebSocket connection .* failed/];

(executablePath === undefined ? describe.skip : describe)('the console while processes are killed', () => {
  let stack: Stack;
  let browser: Browser;
  let balancer: Balancer;

  beforeAll(async () => {
    stack = await startStack({ gateways: 2, runners: 2 });
    balancer = await startBalancer(nth(stack.gateways, 0).healthPort);
    browser = await launchChromium(executablePath ?? '');
  });
  afterAll(async () => {
    await browser.close();
    await balancer.stop();
    await stack.stop();
  });

  test('gateway and runner are killed with -9: the answer is there once, and the timeline names the takeover', async () => {
    const { page, faults } = await openWatchedPage(browser, { expected: BROKEN });
    await page.goto(`http://127.0.0.1:${balancer.port}/`);
    const gate = newGate();
    await composerOf(page).fill(`#hold ${gate} after 3\n#say Seven swift swans swim south slowly.`);
    await composerOf(page).press('Enter');
    await page.getByText('Seven swift swans').waitFor({ timeout: 30_000 });

    const victim = stack.gateways.shift();
    balancer.choose(nth(stack.gateways, 0).healthPort);
    await victim?.kill9();
    const runner = await runnerWithRun(stack);
    await runner.kill9();
    stack.model.release(gate);

    await page.getByText('Seven swift swans swim south slowly.').waitFor({ timeout: 60_000 });
    await settles(page);
    expect(await page.getByText('Seven swift swans', { exact: false }).count()).toBe(1);

    await page.getByRole('link', { name: 'Explain this run' }).click();
    await page.getByRole('option', { name: /Taken over/ }).click();
    const details = page.getByRole('region', { name: 'Details' });
    await details.getByRole('heading', { name: 'Taken over' }).waitFor();
    expect(await details.textContent()).toContain('agent-runner@');
    expect(await page.getByRole('option', { name: /End: success/ }).count()).toBe(1);
    const address = page.url();

    await page.goto('about:blank');
    await page.goto(address);
    await details.getByRole('heading', { name: 'Taken over' }).waitFor({ timeout: 30_000 });
    expect(faults).toEqual([]);
    await page.context().close();
  });
});

/** The runner that executes a run. */
async function runnerWithRun(stack: Stack): Promise<Stack['runners'][number]> {
  const busy = async () => {
    const used = await Promise.all(stack.runners.map(activeRuns));
    return stack.runners[used.findIndex((runs) => runs > 0)];
  };
  return await waitFor(busy, { what: 'a runner with a run' });
}

/** From its metrics. */
async function activeRuns({ healthPort }: Stack['runners'][number]): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${healthPort}/metrics`, { signal: AbortSignal.timeout(5_000) }).catch(
    () => undefined,
  );
  const figure = /^caribou_active_runs\{[^}]*\} (\d+)/m.exec((await answer?.text()) ?? '');
  return Number(figure?.[1] ?? 0);
}
