import { readFileSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

export { findChromium } from '../../tools/bench/console/find-chromium.js';

/** Chromium as the distribution has it: its path, and pages of which every fault is recorded. */

/** Without Chromium's own sandbox, which does not start as root and in containers: the pages are the test's own. */
export const launchChromium = (executablePath: string): Promise<Browser> =>
  chromium.launch({ executablePath, args: ['--no-sandbox'] });

/** Chromium drops all requests when a network interface comes or goes, as those of containers of other tests do. Pages repeat theirs. */
const INTERFACES_CHANGED = /net::ERR_NETWORK_CHANGED/;

/** A page, and what went wrong in it. */
export interface WatchedPage {
  readonly page: Page;
  /** Errors of the console, exceptions that nobody caught and breaches of the page's policy, in order. */
  readonly faults: string[];
  /** Addresses of other hosts that the page asked for. */
  readonly foreign: string[];
}

/**
 * Opens an empty page whose faults are recorded.
 *
 * @param expected errors of the console that belong to what the test does, such as a server that is killed
 */
export async function openWatchedPage(
  browser: Browser,
  { expected = [], ...options }: BrowserContextOptions & { readonly expected?: readonly RegExp[] } = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  const foreign: string[] = [];
  const isExpected = (text: string): boolean => [INTERFACES_CHANGED, ...expected].some((pattern) => pattern.test(text));
  page.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' && !isExpected(text)) faults.push(text);
  });
  page.on('pageerror', (error) => void faults.push(error.message));
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (protocol.startsWith('http') && hostname !== '127.0.0.1') foreign.push(request.url());
  });
  return { page, faults, foreign };
}

/** A fault that axe has found, with the elements that have it. */
export interface AxeFault {
  readonly id: string;
  readonly impact: string;
  readonly elements: readonly string[];
}

interface AxeRun {
  readonly run: () => Promise<{
    readonly violations: readonly {
      readonly id: string;
      readonly impact: string | null;
      readonly nodes: readonly { readonly target: readonly unknown[]; readonly failureSummary?: string }[];
    }[];
  }>;
}

const axeSource = (): string => readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** The serious and critical faults of accessibility that axe finds in the page as it is now. */
export async function axeFaults(page: Page): Promise<readonly AxeFault[]> {
  await page.evaluate(axeSource());
  const violations = await page.evaluate(
    async () => (await (globalThis as unknown as { axe: AxeRun }).axe.run()).violations,
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, impact, nodes }) => ({
      id,
      impact: impact ?? '',
      elements: nodes.map(({ target, failureSummary }) => `${target.join(' ')}: ${failureSummary ?? ''}`),
    }));
}
