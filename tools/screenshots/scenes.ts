import type { Page } from 'playwright-core';
import type { Fleet } from '../bench/fleet.js';

/** A picture: its name, and what a person does before it is taken. */
export interface Scene {
  readonly name: string;
  readonly prepare: (page: Page, fleet: Fleet) => Promise<void>;
}

const TIMEOUT_MS = 30_000;

const pageOf = async (page: Page, fleet: Fleet, path: string): Promise<void> => {
  await page.goto(`${new URL(fleet.apiUrl).origin}/#${path}`);
};

/** Sends a message and waits for the end of its run. */
async function send(page: Page, text: string): Promise<void> {
  const composer = page.getByRole('textbox', { name: 'Message' });
  await composer.waitFor({ timeout: TIMEOUT_MS });
  await composer.fill(text);
  await composer.press('Enter');
  await page.getByRole('button', { name: 'Stop' }).waitFor({ timeout: TIMEOUT_MS });
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached', timeout: TIMEOUT_MS });
}

/** A runner is killed in the middle of a command, and another one continues the run. */
async function runWithTakeover(page: Page, fleet: Fleet): Promise<void> {
  await pageOf(page, fleet, '/threads');
  const composer = page.getByRole('textbox', { name: 'Message' });
  await composer.fill(
    'Count the primes below ten thousand.\n' +
      '#say I will count them with a small program.\n' +
      `#+tool bash ${JSON.stringify({ description: 'Count the primes', command: 'sleep 4; seq 2 9999 | factor | awk "NF==2" | wc -l' })}\n` +
      '#say There are 1,229 primes below ten thousand.',
  );
  await composer.press('Enter');
  await page.getByText('with a small program').waitFor({ timeout: TIMEOUT_MS });
  await fleet.start('agent-runner');
  await fleet.process('agent-runner').kill();
  await page.getByText('There are 1,229 primes').waitFor({ timeout: TIMEOUT_MS });
}

export const scenes: readonly Scene[] = [
  {
    name: 'conversation',
    prepare: async (page, fleet) => {
      await pageOf(page, fleet, '/threads');
      await send(page, 'Write a small program and run it.');
    },
  },
  {
    name: 'explain',
    prepare: async (page, fleet) => {
      await runWithTakeover(page, fleet);
      await page.getByRole('link', { name: 'Explain this run' }).last().click();
      await page.getByRole('option', { name: /Taken over/ }).click();
    },
  },
  {
    name: 'fleet',
    prepare: async (page, fleet) => {
      await pageOf(page, fleet, '/operate/fleet');
      await page.getByText('agent-runner').first().waitFor({ timeout: TIMEOUT_MS });
    },
  },
];
