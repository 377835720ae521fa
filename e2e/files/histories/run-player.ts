import { BEFORE_FIRST_CHECKPOINT, newId, type ReplayReply, type RunReply } from '@caribou/contracts';
import { applyUpdate, type ThreadKey } from '@caribou/core';
import type { ClaimedRun } from '@caribou/testing';
import { ai, commitInput } from '@caribou/testing';
import { checkSeen } from './checks.js';
import type { Machine } from './machine.js';
import { applyEffect, effectOf, pick, type ThreadModel } from './model.js';
import type { Operation } from './operations.js';
import type { HistorySystem } from './system.js';

type RunOperation = Extract<Operation, { readonly kind: 'run' }>;

interface Row {
  readonly content: { readonly id: string; readonly type: string };
}

export const USER = 'default';

/** Executes runs as a runner does, with the same scripts, on a system and on the model of a thread. */
export class RunPlayer {
  private said = 0;

  constructor(private readonly system: HistorySystem) {}

  async play(model: ThreadModel, operation: RunOperation): Promise<void> {
    const run = await this.start(model, await this.requestOf(model, operation));
    if (run === undefined) return;
    await this.execute(model, operation, run);
    // Whatever a run has left on the disk of a machine must not come back with the next one.
    if (operation.end === 'cancel' || operation.end === 'dies') await this.follow(model, operation);
  }

  /** Starts the run that the operation asks for; undefined when the page cannot regenerate the message. */
  private async requestOf(model: ThreadModel, { start, at }: RunOperation): Promise<object> {
    const input = { messages: [this.human()] };
    const checkpointId = pick([...model.checkpoints.keys()], at);
    if (start === 'checkpoint' && checkpointId !== undefined)
      return { input, checkpoint: { checkpoint_id: at % 7 === 0 ? BEFORE_FIRST_CHECKPOINT : checkpointId } };
    if (start === 'regenerate' || start === 'edit') {
      const { body } = await this.system.ask<{ data: Row[] }>('GET', `/${model.threadId}/messages/page`);
      const type = start === 'regenerate' ? 'ai' : 'human';
      const message = pick(
        body.data.filter(({ content }) => content.type === type),
        at,
      );
      if (message !== undefined) return (await this.prepared(model, start, message.content.id)) ?? { input };
    }
    return { input };
  }

  private async prepared(model: ThreadModel, start: 'regenerate' | 'edit', id: string): Promise<object | undefined> {
    const [path, payload] =
      start === 'regenerate'
        ? (['regenerate', { message_id: id }] as const)
        : (['edit-regenerate', { human_message_id: id, replacement_text: `edited ${(this.said += 1)}` }] as const);
    const reply = await this.system.ask<ReplayReply>('POST', `/${model.threadId}/runs/${path}/prepare`, { payload });
    // Its run belongs to the source of a copy, or the checkpoint before it was removed.
    if (reply.status === 409) return undefined;
    expect(reply.status).toBe(200);
    const { input, checkpoint, metadata } = reply.body;
    const { checkpoint_id: base } = checkpoint;
    const isThere = base === BEFORE_FIRST_CHECKPOINT || model.checkpoints.has(base);
    return isThere ? { input, checkpoint, metadata } : undefined;
  }

  private human() {
    return { type: 'human', content: `question ${(this.said += 1)}` };
  }

  private async start(model: ThreadModel, request: object): Promise<RunReply | undefined> {
    const payload = { assistant_id: 'lead_agent', ...request };
    const { status, body } = await this.system.ask<RunReply>('POST', `/${model.threadId}/runs`, { payload });
    expect({ status, body }).toMatchObject({ status: 200 });
    return body;
  }

  private async execute(model: ThreadModel, operation: RunOperation, { run_id: runId }: RunReply): Promise<void> {
    const { runner } = this.system;
    const claimed = await runner.claim({ userId: USER, threadId: model.threadId }, newId());
    if (claimed.kind !== 'run' || claimed.run.run_id !== runId) throw new Error(`the claim answered ${claimed.kind}`);
    const takeBack = model.beginRun();
    const steps = new RunSteps(this.system, model, claimed);
    await steps.begin();
    const machine = this.system.machines[operation.machine === 0 ? 0 : 1];
    const other = this.system.machines[operation.machine === 0 ? 1 : 0];
    for (const changes of operation.commands) await steps.command(changes, { machine, other });
    if (operation.end === 'dies') await steps.dieInCommand(operation, { machine, other });
    if (operation.end === 'success') await steps.succeed(`answer ${(this.said += 1)}`);
    else if (operation.end === 'replace') await this.replace(model, { operation, steps, takeBack });
    else {
      const path = `/${model.threadId}/runs/${runId}/cancel?action=rollback`;
      expect((await this.system.ask('POST', path)).status).toBe(202);
      await steps.rollBack();
      takeBack();
    }
  }

  /** The next run asks for the rollback, and begins when that is done. */
  private async replace(
    model: ThreadModel,
    parts: { readonly operation: RunOperation; readonly steps: RunSteps; readonly takeBack: () => void },
  ): Promise<void> {
    const { operation, steps, takeBack } = parts;
    const next = await this.start(model, { input: { messages: [this.human()] }, multitask_strategy: 'rollback' });
    await steps.rollBack();
    takeBack();
    if (next !== undefined) await this.execute(model, { ...operation, end: 'success' }, next);
  }

  /** A run with one command, which sees what is left. */
  private async follow(model: ThreadModel, { machine }: RunOperation): Promise<void> {
    const run = await this.start(model, { input: { messages: [this.human()] } });
    const operation = {
      kind: 'run',
      start: 'head',
      end: 'success',
      commands: [[]],
      thread: 0,
      at: 0,
      machine,
    } as const;
    if (run !== undefined) await this.execute(model, operation, run);
  }
}

interface Placed {
  readonly machine: Machine;
  readonly other: Machine;
}

/** The steps of one run, each on the system and on the model. */
class RunSteps {
  private readonly thread: ThreadKey;
  private head: ClaimedRun['head'];
  private step = 0;

  constructor(
    private readonly system: HistorySystem,
    private readonly model: ThreadModel,
    private readonly claimed: ClaimedRun,
  ) {
    this.thread = { userId: USER, threadId: model.threadId };
    this.head = claimed.head;
  }

  /** The first commit: the input, on the head or on an older checkpoint. */
  async begin(): Promise<void> {
    const { lease, run, head } = this.claimed;
    const fork = run.fork_checkpoint_id;
    if (fork !== null) this.model.goBack(fork);
    const committed = await commitInput(this.system.runner, { lease, run, head });
    this.take(committed.head);
  }

  /** A command, and the commit after it. */
  async command(changes: RunOperation['commands'][number], { machine, other }: Placed): Promise<void> {
    await machine.acquire(this.thread, this.claimed.lease.epoch, other);
    checkSeen(machine.seen(this.thread), this.model.now);
    for (const change of changes) {
      const effect = effectOf(this.model.work, change);
      machine.change(this.thread, effect);
      this.model.work = applyEffect(this.model.work, effect);
    }
    await machine.publish(this.thread);
    // The checkpoint is written while large files are being stored, and has them when they are.
    await this.commit();
    await machine.settle(this.thread);
  }

  /** A command whose manager is killed before anything of it is stored. */
  async dieInCommand({ at }: RunOperation, { machine, other }: Placed): Promise<void> {
    await machine.acquire(this.thread, this.claimed.lease.epoch, other);
    checkSeen(machine.seen(this.thread), this.model.now);
    machine.change(this.thread, effectOf(this.model.work, { kind: 'write', at, to: at, size: 5 }));
    await machine.restart();
  }

  private async commit(): Promise<void> {
    const { runner } = this.system;
    const { state } = this.head;
    const request = { head: this.head, state, next: ['model_request'], source: 'loop', events: [] } as const;
    this.take((await runner.commit(this.claimed.lease, { ...request, step: (this.step += 1) })).head);
  }

  async succeed(answer: string): Promise<void> {
    const state = applyUpdate(this.head.state, { messages: [ai(answer)] });
    const commit = { head: this.head, state, next: [], source: 'loop', step: this.step + 1, events: [] } as const;
    await this.system.runner.finish(this.claimed.lease, { status: 'success', events: [], commit });
    const state_ = await this.system.ask<{ checkpoint: { checkpoint_id: string } }>(
      'GET',
      `/${this.model.threadId}/state`,
    );
    this.model.capture(state_.body.checkpoint.checkpoint_id);
  }

  async rollBack(): Promise<void> {
    await this.system.runner.finish(this.claimed.lease, { status: 'interrupted', events: [], rollback: true });
  }

  private take(head: ClaimedRun['head']): void {
    this.head = head;
    this.model.capture(head.checkpointId ?? '');
  }
}
