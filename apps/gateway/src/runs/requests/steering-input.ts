import { InvalidRequestError } from '@caribou/contracts';
import type { ResolvedRun } from '../run-inputs.js';

/**
 * Checks that a request of strategy `steer` can join a run: it consists of messages of the user.
 *
 * @throws {InvalidRequestError} naming what cannot join
 */
export function checkSteering({
  input,
  webhook,
  after_seconds: delay,
}: Pick<ResolvedRun, 'input' | 'webhook' | 'after_seconds'>): void {
  if (isGiven(webhook)) throw refusal('webhook: the run in flight keeps its own');
  if (isGiven(delay)) throw refusal('after_seconds: a message joins at once');
  const { messages = [], ...channels } = input ?? {};
  if (messages.length === 0) throw refusal('input.messages: must have at least one new message');
  const other = messages.findIndex(({ type }) => type !== 'human');
  if (other !== -1) throw refusal(`input.messages.${other}: must be a human message`);
  const [name] = Object.entries(channels).find(([, value]) => value !== undefined) ?? [];
  if (name !== undefined) throw refusal(`input.${name}: cannot be changed while a run is in flight`);
}

const isGiven = (value: unknown): boolean => value !== null && value !== undefined;

const refusal = (reason: string): InvalidRequestError =>
  new InvalidRequestError(`${reason} (multitask_strategy steer adds messages to the run in flight)`);
