import type { Locator, Page } from 'playwright-core';
import { waitFor } from '@caribou/testing';
import { nth, type Stack } from '../support/stack.js';

/** What tests of the console do in every page. */

/** The address of the console of the n-th gateway. */
export const originOf = (stack: Stack, gateway = 0): string =>
  `http://127.0.0.1:${nth(stack.gateways, gateway).healthPort}`;

/** The field for a message. */
export const composerOf = (page: Page): Locator => page.getByRole('textbox', { name: 'Message' });

/** The button that stops the run; there only while one is under way. */
export const stopButtonOf = (page: Page): Locator => page.getByRole('button', { name: 'Stop' });

/** Opens the console with a new conversation. */
export async function openConversation(page: Page, stack: Stack): Promise<void> {
  await page.goto(`${originOf(stack)}/`);
  await composerOf(page).waitFor({ timeout: 30_000 });
}

/** Sends a message and resolves once its run has ended in the page. */
export async function sendAndWait(page: Page, text: string): Promise<void> {
  await composerOf(page).fill(text);
  await composerOf(page).press('Enter');
  // The field is emptied when the run was accepted.
  await waitFor(async () => (await composerOf(page).inputValue()) === '', { what: 'the message to be sent' });
  await settles(page);
}

/** Resolves once no run is under way in the page. */
export async function settles(page: Page): Promise<void> {
  await stopButtonOf(page).waitFor({ state: 'detached', timeout: 60_000 });
}
