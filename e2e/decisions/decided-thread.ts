import { randomUUID } from 'node:crypto';
import { waitFor } from '@caribou/testing';
import { callLine, tee } from '../support/approval-tools.js';
import { nonce } from '../support/stack.js';
import { atOnce, taskLine } from '../support/task-client.js';
import { linesOf, openGate } from '../support/threads-on-disk.js';
import type { WireMessage } from '../support/client.js';
import { type AskedCall, EDITED_LINE, namespaceOf, toAskedCall, WAIT, type Waiting } from './asked-call.js';
import { type Door, DOORS, type DoorName, openDoor, StreamDoor } from './doors.js';
import { observeBySocket, observeBySse, type Observer } from './observer.js';
import type { DecisionSystem } from './system.js';

/** Whose calls a person decides about: those of the thread's agent, or of its subagent. */
export const CALLERS = ['agent', 'subagent'] as const;
export type Caller = (typeof CALLERS)[number];

const CALLS = 7;
const ASK_MS = 120_000;

/**
 * A thread whose agent, or its subagent, makes seven calls at once, which get their decisions through one door: four
 * payments, one of each decision, two commands, as commands of a thread are executed one after the other, and a tool that asks.
 */
export class DecidedThread {
  readonly threadId = randomUUID();
  readonly observer: Observer;
  asked: readonly AskedCall[] = [];
  private readonly client: Door;

  constructor(
    private readonly system: DecisionSystem,
    readonly door: DoorName,
    readonly caller: Caller,
  ) {
    const observe = door === 'rest' || door === 'sse' ? observeBySocket : observeBySse;
    this.observer = observe(() => system.client, this.threadId);
    this.client = openDoor(door, system.gateways, this.threadId);
  }

  get name(): string {
    return `${this.caller} by ${this.door}`;
  }

  /** Starts the run, and resolves when all calls wait. */
  async ask(): Promise<void> {
    const script = this.caller === 'agent' ? this.script() : `${nonce()}\n${taskLine(this.script())}\n#say bye`;
    await this.client.start(script);
    const waiting = await waitFor(() => this.waiting(), { what: `the calls of ${this.name}`, timeoutMs: ASK_MS });
    const { client } = this;
    const messages = await this.messagesAt(namespaceOf(waiting[0]));
    this.asked = waiting.map((one) => toAskedCall(one, messages));
    if (!(client instanceof StreamDoor)) return;
    await waitFor(() => client.stream.interrupted && client.shown.length === this.asked.length, {
      what: `the calls to be shown to ${this.name}`,
      timeoutMs: ASK_MS,
    });
    expect([this.name, ...client.shown]).toEqual([this.name, ...this.interruptIds]);
    for (const { namespace } of client.stream.interrupts) expect(namespace).toEqual(namespaceOf(waiting[0]));
  }

  /** Gives each call its decision, all in one request. */
  async decide(): Promise<void> {
    const answers = Object.fromEntries(this.asked.map(({ interruptId, answer }) => [interruptId, answer]));
    expect([this.name, await this.client.answer(answers)]).toEqual([this.name, 'taken']);
  }

  get interruptIds(): readonly string[] {
    return this.asked.map(({ interruptId }) => interruptId).sort();
  }

  /** Ids of the calls that are executed. */
  get executed(): readonly string[] {
    return this.asked.filter(({ isExecuted }) => isExecuted).map(({ callId }) => callId);
  }

  /** The effects so far, in the order of the alphabet. */
  get effects(): readonly string[] {
    const { stack, bank } = this.system;
    const payments = bank.payments
      .filter(({ to }) => to.startsWith(this.threadId))
      .map(({ to, amount }) => `${to.slice(this.threadId.length + 1)} pays ${amount}`);
    const answered = this.system.effectsOfAskingTool.filter((line) => line === this.threadId).map(() => 'answer');
    const lines = linesOf(stack, this.threadId, 'ledger').map((line) => `${line} in the ledger`);
    return [...payments, ...answered, ...lines].sort();
  }

  /** The effects once all calls were executed: each as decided, and once. */
  get decidedEffects(): readonly string[] {
    const line = this.command === 'edit' ? EDITED_LINE : this.command;
    return [...this.effectsBesideCommand, `${line} in the ledger`].sort();
  }

  /** Those of them that are not in the sandbox. */
  get effectsBesideCommand(): readonly string[] {
    return ['answer', 'approve pays 5', 'edit pays 1'];
  }

  /** Lets the command in the sandbox end, which waits after its effect. */
  releaseCommand(): void {
    openGate(this.system.stack, this.threadId, 'gate');
  }

  /** The messages of the thread once it is idle. */
  async finished(): Promise<readonly WireMessage[]> {
    const { threadId, system } = this;
    await waitFor(
      async () => (await system.client.call<{ status: string }>('GET', `/threads/${threadId}`)).body.status === 'idle',
      { what: `the end of ${this.name}`, timeoutMs: ASK_MS },
    );
    return await this.messagesAt([]);
  }

  /** The messages of the agent that made the calls. */
  async messagesOfCaller(): Promise<readonly WireMessage[]> {
    return await this.messagesAt(this.asked[0]?.namespace ?? []);
  }

  /** Ids of the events that the SDK has handed on; none of other doors. */
  get sdkEvents(): readonly string[] {
    return this.client instanceof StreamDoor ? this.client.events : [];
  }

  async close(): Promise<void> {
    await Promise.all([this.client.close(), this.observer.stop()]);
  }

  /** The decision about the command that is executed: each door and each caller has both. */
  private get command(): 'approve' | 'edit' {
    return (DOORS.indexOf(this.door) + CALLERS.indexOf(this.caller)) % 2 === 0 ? 'approve' : 'edit';
  }

  private script(): string {
    const pay = (decision: string) => callLine('bank_pay', { to: `${this.threadId} ${decision}`, amount: 5 });
    const payments = ['approve', 'edit', 'reject', 'respond'].map(pay);
    const commands = [tee(this.command, WAIT), tee(this.command === 'edit' ? 'reject' : 'respond', WAIT)];
    const question = callLine('ask_first', { what: this.threadId });
    return `${nonce()}\n${atOnce(...payments, ...commands, question)}\n#say bye`;
  }

  private async waiting(): Promise<readonly Waiting[] | undefined> {
    const { body } = await this.system.client.call<readonly Waiting[]>('GET', `/threads/${this.threadId}/approvals`);
    return Array.isArray(body) && body.length === CALLS ? (body as readonly Waiting[]) : undefined;
  }

  private async messagesAt(namespace: readonly string[]): Promise<readonly WireMessage[]> {
    const command = { id: 1, method: 'state.get', params: { namespace, keys: ['messages'] } };
    const { body } = await this.system.client.call<{ result?: { values: { messages: readonly WireMessage[] } } }>(
      ...(['POST', `/threads/${this.threadId}/commands`, command] as const),
    );
    if (body.result === undefined) throw new Error(`no state of ${this.name}: ${JSON.stringify(body)}`);
    return body.result.values.messages;
  }
}
