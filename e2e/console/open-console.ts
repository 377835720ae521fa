import type { Browser, Page } from 'playwright-core';
import { freePort, waitFor } from '@caribou/testing';
import { findChromium, launchChromium } from '../support/chromium.js';
import { nth, type Stack, type StackOptions, startStack } from '../support/stack.js';

/** The console of a whole system, whose gateway has a port that another one can take over. */
export interface OpenConsole {
  readonly stack: Stack;
  readonly browser: Browser;
  readonly origin: string;
  /** Kills the gateway, and starts another one on its port. */
  replaceGateway(): Promise<void>;
  stop(): Promise<void>;
}

export const chromiumPath = findChromium();

/** The address of the console of the n-th gateway. */
export const originOf = (stack: Stack, gateway = 0): string =>
  `http://127.0.0.1:${nth(stack.gateways, gateway).healthPort}`;

/** @throws {Error} on a machine without Chromium */
export async function openConsole(options: StackOptions = {}): Promise<OpenConsole> {
  if (chromiumPath === undefined) throw new Error('there is no program chromium');
  const stack = await startStack({ ...options, gateways: 0 });
  const port = await freePort();
  const start = async (): Promise<void> => {
    stack.gateways.splice(0, 1, await stack.start('gateway', { PORT: String(port) }));
  };
  await start();
  const browser = await launchChromium(chromiumPath);
  return {
    stack,
    browser,
    origin: `http://127.0.0.1:${port}`,
    replaceGateway: async () => {
      await stack.gateways[0]?.kill9();
      await start();
    },
    stop: async () => {
      await browser.close();
      await stack.stop();
    },
  };
}

/** A browser says of each request that its server did not answer it. */
export const LOST_SERVER = [/net::ERR_/, /Failed to load resource/];

export const composerOf = (page: Page) => page.getByRole('textbox', { name: 'Message' });

export async function send(page: Page, text: string): Promise<void> {
  await composerOf(page).fill(text);
  await composerOf(page).press('Enter');
}

/** The text of all answers that are shown, in order. */
export async function answersOf(page: Page): Promise<string> {
  const texts = await page.locator('article[aria-label="Agent"]').allInnerTexts();
  return texts.join('\n');
}

export async function shows(page: Page, text: string): Promise<void> {
  let seen = '';
  const isShown = async (): Promise<boolean> => {
    seen = await answersOf(page);
    return seen.includes(text);
  };
  await waitFor(isShown, { what: `the page to show ${text}`, timeoutMs: 60_000 }).catch((error: unknown) => {
    throw new Error(`the page shows ${seen.slice(0, 2_000)}`, { cause: error });
  });
}

/** Resolves once the page shows no run under way. */
export async function isDone(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached', timeout: 60_000 });
}

/** How often a text is in another one. */
export const times = (text: string, part: string): number => text.split(part).length - 1;
