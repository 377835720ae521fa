import { ConflictError, FencedError, UnavailableError } from '@caribou/contracts';
import type {
  CalledExecution,
  ExecutionEntry,
  ExecutionJournal,
  ExecutionState,
  SandboxBinding,
  SandboxProposal,
  SandboxRecord,
  SandboxRegistry,
  ThreadKey,
} from '@caribou/core';

const keyOf = ({ userId, threadId }: ThreadKey): string => `${userId}/${threadId}`;

interface Entry extends ExecutionEntry {
  result?: { readonly value: unknown };
}

/** Both ports over maps, for tests: leases are sets, epochs are set by the test, and the store can be taken away. */
export class InMemoryRegistry implements SandboxRegistry, ExecutionJournal {
  readonly alive = new Set<string>();
  readonly epochs = new Map<string, number>();
  readonly bindings = new Map<string, SandboxRecord>();
  readonly entries = new Map<string, Entry>();
  readonly starts: string[] = [];
  away = false;
  private readonly renewals = new Map<string, number>();

  private async reach(): Promise<void> {
    await Promise.resolve();
    if (this.away) throw new UnavailableError('the store is away', { details: { dependency: 'redis' } });
  }

  async renewManager(managerId: string): Promise<{ lapsed: boolean }> {
    await this.reach();
    const renewals = this.renewals.get(managerId) ?? 0;
    const lapsed = renewals > 0 && !this.alive.has(managerId);
    this.renewals.set(managerId, renewals + 1);
    this.alive.add(managerId);
    return { lapsed };
  }

  async releaseManager(managerId: string): Promise<void> {
    await this.reach();
    this.alive.delete(managerId);
    this.renewals.delete(managerId);
  }

  async isManagerAlive(managerId: string): Promise<boolean> {
    await this.reach();
    return this.alive.has(managerId);
  }

  async binding(thread: ThreadKey): Promise<SandboxRecord | null> {
    await this.reach();
    return this.bindings.get(keyOf(thread)) ?? null;
  }

  async bind(thread: ThreadKey, { epoch, lapse, ...proposal }: SandboxProposal): Promise<SandboxBinding> {
    await this.reach();
    this.requireEpoch(thread, epoch);
    const existing = this.bindings.get(keyOf(thread));
    if (existing !== undefined && (existing.managerId === proposal.managerId || this.alive.has(existing.managerId)))
      return existing;
    const renewals = existing === undefined ? undefined : this.renewals.get(existing.managerId);
    const lapsed = renewals === undefined ? undefined : `${existing?.managerId}:${renewals}`;
    if (existing !== undefined && lapsed !== undefined && lapsed !== lapse) return { ...existing, lapse: lapsed };
    if (existing !== undefined && existing.driver !== proposal.driver) throw new ConflictError('another driver');
    this.bindings.set(keyOf(thread), proposal);
    return proposal;
  }

  async giveBack(thread: ThreadKey, managerId: string): Promise<boolean> {
    await this.reach();
    const existing = this.bindings.get(keyOf(thread));
    if (existing?.managerId !== managerId) return false;
    this.bindings.set(keyOf(thread), { ...existing, managerId: '' });
    return true;
  }

  async currentEpoch(thread: ThreadKey): Promise<number> {
    await this.reach();
    return this.epochs.get(keyOf(thread)) ?? 0;
  }

  async start(thread: ThreadKey, entry: ExecutionEntry): Promise<ExecutionState> {
    const state = await this.peek(thread, entry);
    if (state.state === 'new') {
      this.starts.push(entry.key);
      this.entries.set(`${keyOf(thread)}/${entry.key}`, { ...entry });
    }
    return state;
  }

  async peek(thread: ThreadKey, entry: ExecutionEntry): Promise<ExecutionState> {
    await this.reach();
    this.requireEpoch(thread, entry.epoch);
    const binding = this.bindings.get(keyOf(thread));
    if (binding?.managerId !== entry.managerId || binding.sandboxId !== entry.sandboxId)
      throw new FencedError('not bound');
    const known = this.entries.get(`${keyOf(thread)}/${entry.key}`);
    if (known === undefined) return { state: 'new' };
    if (known.argsHash !== entry.argsHash) return { state: 'mismatch' };
    return known.result === undefined
      ? { state: 'running', managerId: known.managerId }
      : { state: 'done', result: known.result.value };
  }

  async finish(thread: ThreadKey, key: string, outcome: { managerId: string; result: unknown }): Promise<void> {
    await this.reach();
    const known = this.entries.get(`${keyOf(thread)}/${key}`);
    if (known?.managerId !== outcome.managerId || known.result !== undefined)
      throw new FencedError('not started by this manager');
    known.result = { value: outcome.result };
  }

  async markUnknown(
    thread: ThreadKey,
    key: string,
    lost: { startedBy: string; by: string; result: unknown },
  ): Promise<{ result: unknown }> {
    await this.reach();
    const known = this.entries.get(`${keyOf(thread)}/${key}`);
    if (this.bindings.get(keyOf(thread))?.managerId !== lost.by || known?.managerId !== lost.startedBy)
      throw new FencedError('not bound');
    known.result ??= { value: lost.result };
    return { result: known.result.value };
  }

  async find(thread: ThreadKey, { key, argsHash }: CalledExecution): Promise<ExecutionState> {
    await this.reach();
    const known = this.entries.get(`${keyOf(thread)}/${key}`);
    if (known === undefined) return { state: 'new' };
    if (known.argsHash !== argsHash) return { state: 'mismatch' };
    return known.result === undefined
      ? { state: 'running', managerId: known.managerId }
      : { state: 'done', result: known.result.value };
  }

  async withdraw(thread: ThreadKey, call: CalledExecution, value: unknown): ReturnType<ExecutionJournal['withdraw']> {
    const known = await this.find(thread, call);
    this.requireEpoch(thread, call.epoch);
    if (known.state !== 'new') return known;
    const entry = { ...call, managerId: '', sandboxId: '', result: { value } };
    this.entries.set(`${keyOf(thread)}/${call.key}`, entry);
    return { state: 'withdrawn' };
  }

  private requireEpoch(thread: ThreadKey, epoch: number | undefined): void {
    if (epoch === undefined) return;
    if (this.epochs.get(keyOf(thread)) !== epoch) throw new FencedError('stale epoch');
  }
}
