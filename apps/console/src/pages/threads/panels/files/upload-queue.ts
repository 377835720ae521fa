import { ApiError } from '../../../../api/request.js';
import { isTemporary } from '../../../../api/query-client.js';
import { formatBytes } from '../../../../text/format.js';
import { files as texts } from '../../../../text/panels-files.js';

/** What the queue has to know of a file. */
export interface QueuedFile {
  readonly name: string;
  readonly size: number;
}

export type UploadState = 'waiting' | 'sending' | 'done' | 'failed' | 'refused' | 'cancelled';

export interface UploadItem<F extends QueuedFile = QueuedFile> {
  readonly id: number;
  readonly file: F;
  readonly state: UploadState;
  /** Bytes that were sent. */
  readonly sent: number;
  readonly attempts: number;
  readonly error: string | undefined;
}

/** Sends one file. @throws {ApiError} when it was not taken */
export type SendFile<F extends QueuedFile> = (
  file: F,
  options: { readonly onProgress: (sent: number) => void; readonly signal: AbortSignal },
) => Promise<void>;

export interface UploadLimits {
  readonly maxFileBytes: number;
}

interface QueueOptions<F extends QueuedFile> {
  readonly send: SendFile<F>;
  /** Waits before a further attempt. */
  readonly wait: (ms: number) => Promise<void>;
  /** Called when a file is on the server. */
  readonly onDone: (file: F) => void;
}

/** Files that may wait or be sent at once, and those that are in the list in all. */
export const MAX_PENDING = 100;
const MAX_LISTED = 200;
const MAX_PARALLEL = 2;
/** Attempts of a file without a person asking for one. */
const MAX_ATTEMPTS = 3;
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 15_000;

const isPending = ({ state }: UploadItem): boolean => state === 'waiting' || state === 'sending';

/** Uploads of a conversation: two at a time, each with its progress and its own fate. Failures that may pass are tried again. */
export class UploadQueue<F extends QueuedFile = QueuedFile> {
  private items: readonly UploadItem<F>[] = [];
  private readonly listeners = new Set<() => void>();
  private readonly controllers = new Map<number, AbortController>();
  private nextId = 1;

  constructor(private readonly options: QueueOptions<F>) {}

  readonly list = (): readonly UploadItem<F>[] => this.items;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Adds files; those that the server would refuse, or that are too many, are listed with the reason and not sent. */
  add(files: readonly F[], { maxFileBytes }: UploadLimits): void {
    let pending = this.items.filter(isPending).length;
    const added = files.slice(0, MAX_LISTED).map((file): UploadItem<F> => {
      const error = refusalOf(file, maxFileBytes, pending);
      if (error === undefined) pending += 1;
      return {
        id: this.nextId++,
        file,
        state: error === undefined ? 'waiting' : 'refused',
        sent: 0,
        attempts: 0,
        error,
      };
    });
    this.change([...this.items.filter(isPending), ...this.items.filter((item) => !isPending(item)), ...added]);
    this.advance();
  }

  /** Sends a file that failed or was cancelled again. */
  retry(id: number): void {
    if (this.items.filter(isPending).length >= MAX_PENDING) return;
    this.update(id, (item) =>
      item.state === 'failed' || item.state === 'cancelled'
        ? { ...item, state: 'waiting', sent: 0, attempts: 0, error: undefined }
        : item,
    );
    this.advance();
  }

  /** Stops a file that waits or is sent. */
  cancel(id: number): void {
    this.update(id, (item) => (isPending(item) ? { ...item, state: 'cancelled', sent: 0 } : item));
    this.controllers.get(id)?.abort();
    this.advance();
  }

  /** Removes what is over from the list. */
  clear(): void {
    this.change(this.items.filter(isPending));
  }

  /** Stops everything. */
  close(): void {
    for (const { id } of this.items.filter(isPending)) this.cancel(id);
  }

  private advance(): void {
    const sending = this.items.filter(({ state }) => state === 'sending').length;
    const next = this.items.filter(({ state }) => state === 'waiting').slice(0, Math.max(0, MAX_PARALLEL - sending));
    for (const { id, file } of next) {
      this.update(id, (item) => ({ ...item, state: 'sending' }));
      void this.transfer(id, file);
    }
  }

  private async transfer(id: number, file: F): Promise<void> {
    const controller = new AbortController();
    this.controllers.set(id, controller);
    try {
      await this.attempt(id, file, controller.signal);
      this.update(id, (item) => ({ ...item, state: 'done', sent: file.size }));
      this.options.onDone(file);
    } catch (error) {
      this.update(id, (item) =>
        item.state === 'cancelled' ? item : { ...item, state: 'failed', error: textOf(error) },
      );
    } finally {
      this.controllers.delete(id);
      this.advance();
    }
  }

  /** Repeats failures that may pass, with growing pauses or the one that the server names. */
  private async attempt(id: number, file: F, signal: AbortSignal): Promise<void> {
    const onProgress = (sent: number): void => this.update(id, (item) => ({ ...item, sent }));
    for (let attempts = 1; ; attempts += 1) {
      this.update(id, (item) => ({ ...item, attempts, sent: 0 }));
      try {
        await this.options.send(file, { onProgress, signal });
        return;
      } catch (error) {
        if (signal.aborted || attempts >= MAX_ATTEMPTS || !isTemporary(error)) throw error;
        await this.options.wait(pauseMs(error, attempts));
        signal.throwIfAborted();
      }
    }
  }

  private update(id: number, change: (item: UploadItem<F>) => UploadItem<F>): void {
    this.change(this.items.map((item) => (item.id === id ? change(item) : item)));
  }

  private change(items: readonly UploadItem<F>[]): void {
    this.items = items.slice(-(MAX_LISTED + MAX_PENDING));
    for (const listener of this.listeners) listener();
  }
}

function refusalOf({ size }: QueuedFile, maxFileBytes: number, pending: number): string | undefined {
  if (size > maxFileBytes) return texts.tooLarge(formatBytes(maxFileBytes));
  return pending >= MAX_PENDING ? texts.tooMany(MAX_PENDING) : undefined;
}

const pauseMs = (error: unknown, attempts: number): number =>
  Math.min(
    MAX_RETRY_MS,
    error instanceof ApiError && error.retryAfterSeconds !== undefined
      ? error.retryAfterSeconds * 1_000
      : RETRY_MS * 2 ** (attempts - 1),
  );

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
