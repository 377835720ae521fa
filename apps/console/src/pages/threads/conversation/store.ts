import type { ThreadStatus } from '@caribou/contracts';
import { ApiError } from '../../../api/request.js';
import { type ConversationState, EMPTY } from '../state/conversation-state.js';
import { withoutRun, withPage } from '../state/feed.js';
import { type Frame, withFrames, withRun } from '../state/frames.js';
import { withoutEnded } from '../state/pending.js';
import { withChannels } from '../state/values.js';
import { backoffMs, pause } from '../stream/backoff.js';
import { type FollowEnd, followRun } from '../stream/follow-run.js';
import type { KnownRun, StorePorts } from './store-ports.js';

/** What is known of the server beside the conversation itself. */
export interface StoreView {
  readonly conversation: ConversationState;
  /** Undefined until the thread was read; false for one that does not exist yet. */
  readonly exists: boolean | undefined;
  readonly status: ThreadStatus;
  /** False while the page tries to connect again. */
  readonly isConnected: boolean;
  readonly isReadingOlder: boolean;
  /** Why the thread cannot be read. */
  readonly error: unknown;
  /** Rises with each run that has ended. */
  readonly revision: number;
}

const isInFlight = ({ status }: KnownRun): boolean => status === 'pending' || status === 'running';

/** How often a page that shows no run looks whether one was started elsewhere. */
const POLL_MS = 2_500;
const HIDDEN_POLL_MS = 15_000;

/**
 * An open conversation: reads it, follows its runs one after the other, and looks for runs that were started elsewhere.
 * Listeners are called at most once per picture.
 */
export class ConversationStore {
  private view: StoreView = {
    conversation: EMPTY,
    exists: undefined,
    status: 'idle',
    isConnected: true,
    isReadingOlder: false,
    error: undefined,
    revision: 0,
  };
  private readonly listeners = new Set<() => void>();
  private readonly waiting: Frame[] = [];
  private isScheduled = false;
  private clock = 0;
  private life = new AbortController();
  /** Ends the wait for the next look at the runs. */
  private nudge = new AbortController();
  /** The newest run when runs were looked at last. */
  private newest: string | undefined;

  constructor(
    readonly threadId: string,
    private readonly ports: StorePorts,
  ) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly getView = (): StoreView => this.view;

  /** Begins to read and to follow. @param isNew there is no such thread yet */
  open({ isNew }: { readonly isNew: boolean }): void {
    this.life = new AbortController();
    this.nudge = new AbortController();
    if (isNew && this.view.exists === undefined) this.view = { ...this.view, exists: false };
    void this.live(this.life.signal);
  }

  close(): void {
    this.life.abort();
    this.nudge.abort();
  }

  /** Looks at the runs now. */
  wake(): void {
    this.nudge.abort();
  }

  /** The thread was made by a message of this page. */
  becomeReal(): void {
    if (this.view.exists !== true) this.set({ exists: true });
    this.wake();
  }

  /** Changes the conversation, with the events that have arrived before. */
  change(update: (state: ConversationState) => ConversationState): void {
    this.applyFrames();
    this.set({ conversation: update(this.view.conversation) });
  }

  /** Reads state and newest messages. @throws {ApiError} */
  async read(): Promise<void> {
    this.clock += 1;
    const readAt = this.clock;
    const [thread, page] = await Promise.all([
      this.ports.getThread(this.threadId),
      this.ports.getPage(this.threadId, undefined),
    ]);
    this.change((state) =>
      withChannels(withPage(state, { page, before: undefined, readAt }), {
        ...thread.values,
        interrupts: Object.values(thread.interrupts).flat(),
      }),
    );
    this.set({ exists: true, status: thread.status, error: undefined });
  }

  /** Reads the page before the oldest message that is shown. */
  async readOlder(): Promise<void> {
    const before = this.view.conversation.olderBefore;
    if (typeof before !== 'number' || this.view.isReadingOlder) return;
    this.set({ isReadingOlder: true });
    try {
      const page = await this.ports.getPage(this.threadId, before);
      this.change((state) => withPage(state, { page, before, readAt: 0 }));
    } finally {
      this.set({ isReadingOlder: false });
    }
  }

  private async live(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      try {
        if (this.view.exists !== false) await this.step(signal);
        failures = 0;
        await this.idle(document.hidden ? HIDDEN_POLL_MS : POLL_MS);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        this.report(error);
        await this.idle(Math.max(1_000, backoffMs(failures)));
      }
    }
  }

  private report(error: unknown): void {
    const isAway = error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500);
    // What is shown stays, while the server is away.
    if (isAway && this.view.conversation.olderBefore !== undefined) this.set({ isConnected: false });
    else this.set({ error });
  }

  /** Waits; a wake-up that came before ends it at once. */
  private async idle(ms: number): Promise<void> {
    await pause(ms, this.nudge.signal);
    if (this.nudge.signal.aborted && !this.life.signal.aborted) this.nudge = new AbortController();
  }

  /** Reads what is new, then follows the runs that are in flight to their ends. */
  private async step(signal: AbortSignal): Promise<void> {
    let runs = await this.ports.listRuns(this.threadId);
    if (signal.aborted) return;
    const newest = runs[0] === undefined ? '' : `${runs[0].run_id} ${runs[0].status}`;
    if (newest !== this.newest || this.view.conversation.olderBefore === undefined) await this.read();
    if (signal.aborted) return;
    this.newest = newest;
    if (!this.view.isConnected || this.view.error !== undefined) this.set({ isConnected: true, error: undefined });
    for (let run = runs.findLast(isInFlight); run !== undefined; run = runs.findLast(isInFlight)) {
      await this.follow(run.run_id, signal);
      if (signal.aborted) return;
      runs = await this.ports.listRuns(this.threadId);
    }
    this.change((state) => withoutEnded(state, new Set(runs.filter(isInFlight).map(({ run_id }) => run_id))));
  }

  /** Follows a run to its end. */
  private async follow(runId: string, signal: AbortSignal): Promise<void> {
    this.change((state) => withRun(state, runId));
    this.set({ status: 'busy' });
    let from: string | undefined;
    for (;;) {
      const end = await this.followFrom(runId, from, signal);
      if (end.kind === 'aborted') return;
      if (end.kind === 'gap') {
        await this.readUntilDone(signal);
        from = end.latest;
        this.change((state) => withRun(state, runId, { from, hasGap: true }));
        continue;
      }
      await this.readUntilDone(signal);
      if (signal.aborted) return;
      this.change((state) => withoutRun(state, { isGone: end.kind === 'gone' }));
      this.set({ revision: this.view.revision + 1 });
      return;
    }
  }

  private async followFrom(runId: string, from: string | undefined, signal: AbortSignal): Promise<FollowEnd> {
    let hasRead = false;
    return await followRun(
      {
        join: (after, whileOpen) => this.ports.join({ threadId: this.threadId, runId }, after, whileOpen),
        onConnection: (isConnected) => {
          if (isConnected !== this.view.isConnected) this.set({ isConnected });
        },
        onFrames: (frames) => {
          this.push(frames);
          // The message that began the run is no event of it: it is read once the run has stored it.
          if (hasRead || frames.every(({ event }) => event === 'metadata')) return;
          hasRead = true;
          void this.read().catch((error: unknown) => this.report(error));
        },
      },
      from,
      signal,
    );
  }

  /** The feed after the end of a run is needed, however long the server is away. */
  private async readUntilDone(signal: AbortSignal): Promise<void> {
    for (let failures = 1; !signal.aborted; failures += 1) {
      try {
        await this.read();
        this.set({ isConnected: true });
        return;
      } catch (error) {
        if (error instanceof ApiError && [401, 403, 404].includes(error.status)) throw error;
        this.set({ isConnected: false });
        await pause(backoffMs(failures), signal);
      }
    }
  }

  /** Events of one picture are applied together. */
  private push(frames: readonly Frame[]): void {
    this.waiting.push(...frames);
    if (this.isScheduled) return;
    this.isScheduled = true;
    this.ports.schedule(() => {
      this.isScheduled = false;
      this.applyFrames();
    });
  }

  private applyFrames(): void {
    const frames = this.waiting.splice(0);
    if (frames.length > 0) this.set({ conversation: withFrames(this.view.conversation, frames) });
  }

  private set(changed: Partial<StoreView>): void {
    this.view = { ...this.view, ...changed };
    for (const listener of this.listeners) listener();
  }
}
