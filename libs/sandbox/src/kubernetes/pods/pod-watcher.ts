import type { Clock } from '@caribou/core';
import { ApiFailure } from '../api/api-failure.js';
import type { Pod, WatchEvent } from '../api/pod.js';
import type { PodsApi } from '../api/pods-api.js';

export interface PodWatcherOptions {
  readonly api: Pick<PodsApi, 'list' | 'get'>;
  readonly watch: (resourceVersion: string, signal: AbortSignal) => AsyncIterable<WatchEvent>;
  readonly selector: string;
  readonly clock: Clock;
  /** Between 0 and 1. */
  readonly random: () => number;
  /** Called with what ended a watch other than the server's own end of it. */
  readonly onFailure: (error: unknown) => void;
}

/** Before the first repetition; each further one may be twice as long. */
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 15_000;
/** A caller that waits for a pod asks for it soon and then that often, in case events are lost. */
const FIRST_POLL_MS = 150;
const POLL_MS = 3_000;
/** `gone` of a state. */
const GONE = null;

type Listener = (pod: Pod | null) => void;

/**
 * Follows the pods of one selector by a list and a watch of what comes after it.
 *
 *  W1  A watch that ends begins again where it ended; one whose version the server has forgotten (410), or that has
 *      failed, begins with a new list.
 *  W2  What a list does not have any more is gone.
 *  W3  Events are hints: who waits for a pod asks for it as well, so that lost ones cost time only.
 */
export class PodWatcher {
  private readonly stopping = new AbortController();
  private readonly listeners = new Map<string, Set<Listener>>();
  private known = new Map<string, Pod>();
  private loop: Promise<void> | undefined;

  constructor(private readonly options: PodWatcherOptions) {}

  /** Begins to follow, once. */
  start(): void {
    this.loop ??= this.follow();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  /** The pod as the newest event has it, which may be older than the server's; undefined when no event has named it. */
  latest(name: string): Pod | undefined {
    return this.known.get(name);
  }

  /**
   * The first result of `judge` for a state of the pod (null: it is gone) that is not undefined; undefined when the time
   * is up before.
   *
   * @throws what `judge` throws, and an ApiFailure when the API server could not be asked at the end
   */
  async until<T>(
    name: string,
    judge: (pod: Pod | null) => T | undefined,
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<T | undefined> {
    const { clock, api } = this.options;
    const endsAtMs = clock.monotonicMs() + timeoutMs;
    const news = this.subscribe(name);
    let failure: ApiFailure | undefined;
    let pollMs = FIRST_POLL_MS;
    try {
      for (;;) {
        signal?.throwIfAborted();
        const result = news.take(judge);
        if (result !== undefined) return result;
        const leftMs = endsAtMs - clock.monotonicMs();
        if (leftMs <= 0) break;
        if (await news.next(Math.min(pollMs, leftMs), signal)) continue;
        pollMs = POLL_MS;
        try {
          news.add(await api.get(name));
          failure = undefined;
        } catch (error) {
          if (!(error instanceof ApiFailure) || !error.isTransient) throw error;
          failure = error;
        }
      }
      if (failure !== undefined) throw failure;
      return undefined;
    } finally {
      news.close();
    }
  }

  private subscribe(name: string): PodNews {
    const set = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, set);
    const news = new PodNews(this.options.clock, (listener) => {
      set.delete(listener);
      if (set.size === 0) this.listeners.delete(name);
    });
    set.add(news.add);
    const pod = this.known.get(name);
    if (pod !== undefined) news.add(pod);
    return news;
  }

  private async follow(): Promise<void> {
    const { signal } = this.stopping;
    let failures = 0;
    let version: string | undefined;
    while (!signal.aborted) {
      try {
        version ??= await this.list();
        for await (const event of this.options.watch(version, signal)) version = this.take(event);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof ApiFailure)) throw error;
        version = undefined;
        if (error.httpStatus === 410) continue;
        failures += 1;
        this.options.onFailure(error);
      }
      await this.pause(failures);
    }
  }

  private async pause(failures: number): Promise<void> {
    const { clock, random } = this.options;
    const longest = Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS);
    const { signal } = this.stopping;
    await clock.sleep(longest * (0.5 + random() / 2), signal).catch((reason: unknown) => {
      if (!signal.aborted) throw reason;
    });
  }

  /** (W2) */
  private async list(): Promise<string> {
    const { pods, resourceVersion } = await this.options.api.list(this.options.selector);
    const before = this.known;
    this.known = new Map(pods.map((pod) => [pod.metadata.name, pod]));
    for (const name of before.keys()) if (!this.known.has(name)) this.tell(name, GONE);
    for (const [name, pod] of this.known) this.tell(name, pod);
    return resourceVersion;
  }

  private take(event: WatchEvent): string {
    if (event.type === 'BOOKMARK') return event.object.metadata.resourceVersion;
    if (event.type === 'ERROR') throw new ApiFailure('a watch has failed', { isTransient: true, isRefused: true });
    const { name, resourceVersion } = event.object.metadata;
    const isGone = event.type === 'DELETED';
    if (isGone) this.known.delete(name);
    else this.known.set(name, event.object);
    this.tell(name, isGone ? GONE : event.object);
    return resourceVersion;
  }

  private tell(name: string, pod: Pod | null): void {
    for (const listener of this.listeners.get(name) ?? []) listener(pod);
  }
}

/** States of a pod that somebody waits for; only the newest counts. */
class PodNews {
  private state: { readonly pod: Pod | null } | undefined;
  private wake: (() => void) | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly unsubscribe: (listener: Listener) => void,
  ) {}

  readonly add = (pod: Pod | null): void => {
    this.state = { pod };
    this.wake?.();
  };

  take<T>(judge: (pod: Pod | null) => T | undefined): T | undefined {
    const { state } = this;
    this.state = undefined;
    return state === undefined ? undefined : judge(state.pod);
  }

  /** Whether there is news within the time. @throws the signal's reason */
  async next(timeoutMs: number, signal: AbortSignal | undefined): Promise<boolean> {
    if (this.state !== undefined) return true;
    const woken = new AbortController();
    this.wake = () => woken.abort();
    const either = signal === undefined ? woken.signal : AbortSignal.any([woken.signal, signal]);
    await this.clock.sleep(timeoutMs, either).catch((reason: unknown) => {
      if (!either.aborted) throw reason;
    });
    this.wake = undefined;
    signal?.throwIfAborted();
    return this.state !== undefined;
  }

  close(): void {
    this.unsubscribe(this.add);
  }
}
