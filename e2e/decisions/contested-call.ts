import { randomUUID } from 'node:crypto';
import { waitFor } from '@caribou/testing';
import { TwoGateways } from '../protocol/two-gateways.js';
import { callLine } from '../support/approval-tools.js';
import { nonce } from '../support/stack.js';
import { taskLine } from '../support/task-client.js';
import { decisionOf, type Waiting } from './asked-call.js';
import type { Caller } from './decided-thread.js';
import { type Door, type DoorName, openDoor, type Outcome, StreamDoor } from './doors.js';
import type { DecisionSystem } from './system.js';

type Decision = 'approve' | 'edit' | 'reject' | 'respond';

/** One of two people who decide about the same call at the same time. */
export interface Contestant {
  readonly door: DoorName;
  readonly decision: Decision;
}

const ASK_MS = 120_000;
const EFFECTS: Readonly<Record<Decision, readonly number[]>> = { approve: [5], edit: [1], reject: [], respond: [] };

/** A payment about which two people decide differently, each through a door of a gateway of their own. */
export class ContestedCall {
  private readonly threadId = randomUUID();
  private readonly doors: readonly Door[];
  private id = '';

  constructor(
    private readonly system: DecisionSystem,
    readonly contestants: readonly [Contestant, Contestant],
    private readonly caller: Caller,
  ) {
    this.doors = contestants.map(({ door }, index) => {
      const gateways = new TwoGateways(system.stack);
      gateways.current = index;
      return openDoor(door, gateways, this.threadId);
    });
  }

  get name(): string {
    const people = this.contestants.map(({ door, decision }) => `${decision} by ${door}`);
    return `${people.join(' and ')} of the ${this.caller}'s call`;
  }

  private get streams(): readonly StreamDoor[] {
    return this.doors.filter((door) => door instanceof StreamDoor);
  }

  /** Starts the run through the first door, and resolves when both people see the call. */
  async ask(): Promise<void> {
    const pay = callLine('bank_pay', { to: this.threadId, amount: 5 });
    const script =
      this.caller === 'agent' ? `${nonce()}\n${pay}` : `${nonce()}\n${taskLine(`${nonce()}\n${pay}\n#say paid`)}`;
    await this.doors[0]?.start(`${script}\n#say bye`);
    await Promise.all(this.streams.map((door) => door.open()));
    const path = `/threads/${this.threadId}/approvals`;
    this.id = await waitFor(
      async () => (await this.system.client.call<readonly Waiting[]>('GET', path)).body[0]?.interrupt_id,
      { what: `the call of ${this.name}`, timeoutMs: ASK_MS },
    );
    await waitFor(() => this.streams.every((door) => door.shown.includes(this.id)), {
      what: `the call to be shown for ${this.name}`,
      timeoutMs: ASK_MS,
    });
  }

  /** Both decide at once; their outcomes in the order of the contestants. */
  decide(): Promise<readonly Outcome[]> {
    return Promise.all(
      this.doors.map((door, index) => {
        const decision = this.contestants[index]?.decision ?? 'approve';
        const action = { name: 'bank_pay', args: { to: this.threadId, amount: 5 } };
        return door.answer({ [this.id]: { decisions: [decisionOf(decision, action)] } });
      }),
    );
  }

  /** Amounts that were paid, once the thread is idle. */
  async finished(): Promise<readonly number[]> {
    const path = `/threads/${this.threadId}`;
    await waitFor(async () => (await this.system.client.call<{ status: string }>('GET', path)).body.status === 'idle', {
      what: `the end of ${this.name}`,
      timeoutMs: ASK_MS,
    });
    return this.system.bank.payments.filter(({ to }) => to === this.threadId).map(({ amount }) => amount);
  }

  /** Amounts that are paid when one of the contestants has won. */
  effectsOf(winner: number): readonly number[] {
    return EFFECTS[this.contestants[winner]?.decision ?? 'reject'];
  }

  /** The refusal that the other one gets. */
  refusalOf(loser: number): Outcome {
    const door = this.contestants[loser]?.door;
    return door === 'rest' || door === 'sdk' ? 409 : 'no_such_interrupt';
  }

  async close(): Promise<void> {
    await Promise.all(this.doors.map((door) => door.close()));
  }
}
