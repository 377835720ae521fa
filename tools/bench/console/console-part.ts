import { type Browser, chromium, type Page } from 'playwright-core';
import type { Bench, Part } from '../bench.js';
import { type Budget, say } from '../report.js';
import { inParallel, inTurn, median, quantile } from '../sample.js';
import { findChromium } from './find-chromium.js';
import { framesDuring, type FrameTimes, scrollDown } from './page-probes.js';

/** How the console works in a browser: its first load, a list of 10,000 conversations, and a fast stream. */

const THREADS = 10_000;
const TOKENS = 1_600;
/** 200 tokens per second. */
const TOKEN_MS = 5;
const LIST = '[data-scrolls="conversations"]';

export const consolePage: Part = async (bench) => {
  say();
  const executablePath = findChromium();
  if (executablePath === undefined) {
    say('The console in a browser: not measured, there is no program chromium');
    return [];
  }
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    say('The console in Chromium, on the same two cores');
    return [
      ...(await firstLoads(bench, browser)),
      ...(await longList(bench, browser)),
      ...(await fastStream(bench, browser)),
    ];
  } finally {
    await browser.close();
  }
};

const originOf = ({ fleet }: Bench): string => new URL(fleet.apiUrl).origin;

const composerOf = (page: Page) => page.getByRole('textbox', { name: 'Message' });

/** Each in a context of its own, so that nothing is cached. */
async function firstLoads(bench: Bench, browser: Browser): Promise<readonly Budget[]> {
  const loads = await inTurn(bench.times(12), () => firstLoad(browser, originOf(bench)));
  const bytes = Math.max(...loads.map((load) => load.bytes));
  const interactiveMs = median(loads.map((load) => load.interactiveMs));
  say(
    `  first load ${(bytes / 1_000).toFixed(0)} kB compressed, the message field can be used after ${interactiveMs.toFixed(0)} ms (p50)`,
  );
  return [
    { what: 'first load of the console', value: bytes / 1_000, unit: 'kB', atMost: 300 },
    { what: 'until the message field can be used, p50', value: interactiveMs, unit: 'ms', atMost: 1_000 },
  ];
}

async function firstLoad(browser: Browser, origin: string): Promise<{ bytes: number; interactiveMs: number }> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => void (bytes += encodedDataLength));
  const startMs = performance.now();
  await page.goto(`${origin}/`);
  await composerOf(page).waitFor();
  const interactiveMs = performance.now() - startMs;
  await page.waitForLoadState('networkidle');
  await context.close();
  return { bytes, interactiveMs };
}

async function longList(bench: Bench, browser: Browser): Promise<readonly Budget[]> {
  const count = bench.times(THREADS);
  await inParallel(count, 8, (index) => makeThread(bench.fleet.apiUrl, `${index}`));
  const page = await browser.newPage();
  await page.goto(`${originOf(bench)}/`);
  await page.locator(LIST).waitFor();
  const times = await framesDuring(page, () => scrollDown(page, LIST, 300));
  await page.close();
  sayFrames(`scrolling through ${count} conversations`, times);
  return frameBudgets('scrolling through the list', times);
}

async function makeThread(apiUrl: string, name: string): Promise<void> {
  const answer = await fetch(`${apiUrl}/threads`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ metadata: { title: `Conversation ${name}` } }),
    signal: AbortSignal.timeout(30_000),
  });
  if (!answer.ok) throw new Error(`a thread was not made: ${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
}

/** A person types while 200 tokens a second arrive. */
async function fastStream(bench: Bench, browser: Browser): Promise<readonly Budget[]> {
  const page = await browser.newPage();
  await page.goto(`${originOf(bench)}/`);
  const composer = composerOf(page);
  await composer.fill(`#tokens ${bench.times(TOKENS)} ${TOKEN_MS}`);
  await composer.press('Enter');
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  const keyMs: number[] = [];
  const times = await framesDuring(page, async () => {
    for (let key = 0; key < bench.times(60); key += 1) {
      const startMs = performance.now();
      await composer.press('x');
      keyMs.push(performance.now() - startMs);
      await page.waitForTimeout(80);
    }
  });
  await page.close();
  sayFrames('a stream of 200 tokens per second', times);
  say(`  a key pressed meanwhile is handled within ${quantile(keyMs, 0.95).toFixed(0)} ms (p95)`);
  return frameBudgets('a stream of 200 tokens per second', times);
}

function sayFrames(what: string, { frames, longestTaskMs }: FrameTimes): void {
  say(
    `  ${what}: ${frames.length} frames, p50 ${median(frames).toFixed(0)} ms, p95 ${quantile(frames, 0.95).toFixed(0)} ms, longest task ${longestTaskMs.toFixed(0)} ms`,
  );
}

const frameBudgets = (what: string, { frames, longestTaskMs }: FrameTimes): readonly Budget[] => [
  { what: `${what}: a frame, p95`, value: quantile(frames, 0.95), unit: 'ms', atMost: 50 },
  { what: `${what}: longest task`, value: longestTaskMs, unit: 'ms', atMost: 200 },
];
