import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { AppError, RateLimitedError, UnavailableError } from '@caribou/contracts';
import type {
  Companion,
  ConversionRecord,
  ConversionStore,
  Logger,
  PendingConversion,
  ThreadKey,
  UploadKey,
} from '@caribou/core';
import { type DocumentConverter, documentKindOf } from '@caribou/documents';
import type { FileEntry, UserFiles } from '@caribou/files';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Dependency } from '../../dependency.js';
import type { GatewaySettings } from '../../settings.js';
import { type ConversionJob, convertUpload } from './convert-upload.js';
import { toDocumentState, type DocumentState } from './document-state.js';

/** A conversion that was interrupted this often without an error is not attempted again. */
const MAX_ATTEMPTS = 3;
/** How long a stopping gateway waits for its conversions to end. */
const STOP_MS = 5_000;

export type DocumentStates = ReadonlyMap<string, DocumentState>;

/** The Markdown of a conversion that was published, or may be. */
const companionOf = (record: ConversionRecord | null): Companion | undefined =>
  record === null || record.status === 'failed' ? undefined : record.companion;

/**
 * Markdown of uploaded documents. A pending conversion is recorded in the store under a lease. When its gateway dies,
 * the lease lapses, and the next list of the thread, at any gateway, resumes the conversion.
 */
@Injectable()
export class DocumentConversions implements OnModuleDestroy {
  private readonly running = new Set<Promise<void>>();
  private readonly stopping = new AbortController();

  constructor(
    @Dependency('userFiles') private readonly files: UserFiles,
    @Dependency('conversions') private readonly store: ConversionStore,
    @Dependency('converter') private readonly converter: DocumentConverter,
    @Dependency('settings') private readonly settings: GatewaySettings,
    @Dependency('logger') private readonly logger: Logger,
  ) {}

  /** Starts to convert those new uploads that are documents, and waits for their Markdown for a limited time. */
  async begin(thread: ThreadKey, uploads: readonly FileEntry[]): Promise<void> {
    const begun = await Promise.all(uploads.map((entry) => this.beginOne(thread, entry)));
    const jobs = begun.flatMap((job) => (job === null ? [] : [this.run(job)]));
    if (jobs.length === 0) return;
    const over = new AbortController();
    const waited = delay(this.settings.uploads.convertWaitMs, undefined, { signal: over.signal }).catch(
      () => undefined,
    );
    await Promise.race([Promise.all(jobs), waited]);
    over.abort();
  }

  /** The states of the conversions of listed files. */
  async states(thread: ThreadKey, listed: readonly FileEntry[]): Promise<DocumentStates> {
    const documents = listed.filter(({ name }) => documentKindOf(name) !== null);
    const records = await this.orDefault(new Map<string, ConversionRecord>(), () =>
      this.store.read(
        thread,
        documents.map(({ name }) => name),
      ),
    );
    const others = new Map(listed.map((entry) => [entry.name, entry]));
    return new Map(
      documents.flatMap((entry): [string, DocumentState][] => {
        const state = toDocumentState(entry, records.get(entry.name), others);
        return state === undefined ? [] : [[entry.name, state]];
      }),
    );
  }

  /**
   * Restarts conversions whose gateway has died or whose Markdown was replaced, without waiting for them, and returns
   * the states of all.
   */
  async resumePending(thread: ThreadKey, listed: readonly FileEntry[]): Promise<DocumentStates> {
    const states = await this.states(thread, listed);
    const resumed = listed.map(async (entry): Promise<[string, DocumentState][]> => {
      const state = states.get(entry.name);
      if (state?.status === 'pending') await this.resume({ ...thread, filename: entry.name });
      if (state?.status !== 'outdated') return state === undefined ? [] : [[entry.name, state]];
      const job = await this.beginOne(thread, entry);
      if (job === null) return [];
      void this.run(job);
      return [[entry.name, { status: 'pending' }]];
    });
    return new Map((await Promise.all(resumed)).flat());
  }

  /** Records the names of new uploads. */
  async note(thread: ThreadKey, files: readonly FileEntry[]): Promise<void> {
    await this.store.recordUploads(
      thread,
      files.map(({ name }) => name),
    );
  }

  /** Removes the records of `begin` and `note`, because the thread was deleted. */
  async withdraw(thread: ThreadKey, files: readonly FileEntry[]): Promise<void> {
    await this.store.withdrawUploads(
      thread,
      files.map(({ name }) => name),
    );
  }

  /** Removes the record of a deleted document, and its Markdown unless it was changed. */
  async forget(file: UploadKey): Promise<void> {
    if (documentKindOf(file.filename) === null) return;
    await this.removeRecord(file);
  }

  /** The Markdown goes before the record that names it: when this process is killed in between, the next attempt still finds it. */
  private async removeRecord(file: UploadKey): Promise<void> {
    const known = (await this.store.read(file, [file.filename])).get(file.filename) ?? null;
    await this.removeMarkdown(file, known);
    const removed = await this.store.forget(file);
    // Another one when a conversion has ended meanwhile.
    if (companionOf(removed) !== undefined && !isDeepStrictEqual(companionOf(removed), companionOf(known)))
      await this.removeMarkdown(file, removed);
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    await Promise.race([Promise.all(this.running), delay(STOP_MS, undefined, { ref: false })]);
  }

  private async beginOne(thread: ThreadKey, entry: FileEntry): Promise<ConversionJob | null> {
    const kind = documentKindOf(entry.name);
    if (kind === null || !this.settings.uploads.autoConvertDocuments) return null;
    const file = { ...thread, filename: entry.name };
    const { sizeBytes, modifiedMs } = entry;
    const record = { status: 'pending', source: { sizeBytes, modifiedMs }, attempts: 1 } as const;
    return this.orDefault(null, async () => {
      await this.removeRecord(file);
      const lease = this.newLease();
      await this.store.begin(file, record, lease);
      return { file, kind, lease, record, signal: this.stopping.signal };
    });
  }

  private async resume(file: UploadKey): Promise<void> {
    const kind = documentKindOf(file.filename);
    if (kind === null || !this.settings.uploads.autoConvertDocuments) return;
    await this.orDefault(undefined, async () => {
      const lease = this.newLease();
      const found = await this.store.takeOver(file, lease);
      if (found === null) return;
      const record: PendingConversion = { ...found, attempts: found.attempts + 1 };
      const job = { file, kind, lease, record, signal: this.stopping.signal };
      if (record.attempts > MAX_ATTEMPTS) await this.fail(job, 'the conversion was cut short too often');
      else if (await this.store.renew(file, lease, record)) void this.run(job);
    });
  }

  private newLease() {
    return { token: randomUUID(), leaseMs: this.settings.conversionLeaseMs };
  }

  private async removeMarkdown(file: UploadKey, record: ConversionRecord | null): Promise<void> {
    const companion = companionOf(record);
    if (companion !== undefined) await this.files.removeUnchanged(file, 'uploads', companion);
  }

  /** Runs a job in the background and logs its errors, because no caller handles them. */
  private run(job: ConversionJob): Promise<void> {
    const work = this.work(job)
      .catch((error: unknown) => {
        this.logger.error({ error, threadId: job.file.threadId }, 'the conversion of a document failed unexpectedly');
      })
      .finally(() => this.running.delete(work));
    this.running.add(work);
    return work;
  }

  private async work(job: ConversionJob): Promise<void> {
    const { files, store, converter } = this;
    const lost = new AbortController();
    const signal = AbortSignal.any([job.signal, lost.signal]);
    const renewal = setInterval(() => void this.renew(job, lost), this.settings.conversionRenewMs);
    try {
      await convertUpload({ files, store, converter }, { ...job, signal });
    } catch (error) {
      if (!lost.signal.aborted) await this.orDefault(undefined, () => this.endEarly(job, error));
    } finally {
      clearInterval(renewal);
    }
  }

  /** Renews the lease. An unavailable store does not end the job; the next renewal checks the lease again. */
  private async renew({ file, lease }: ConversionJob, lost: AbortController): Promise<void> {
    if (!(await this.orDefault(true, () => this.store.renew(file, lease)))) lost.abort();
  }

  /**
   * Leaves the conversion to a later listing of the thread when the document is not at fault, otherwise records a
   * failure.
   */
  private async endEarly(job: ConversionJob, error: unknown): Promise<void> {
    const { file, record, lease } = job;
    const givenUp = { ...lease, leaseMs: 0 };
    if (error instanceof UnavailableError && record.attempts < MAX_ATTEMPTS) {
      await this.store.renew(file, givenUp);
      return;
    }
    if (error instanceof RateLimitedError || job.signal.aborted) {
      await this.store.renew(file, givenUp, { ...record, attempts: record.attempts - 1 });
      return;
    }
    const known = error instanceof AppError;
    if (!known) this.logger.error({ error, threadId: file.threadId }, 'a document could not be converted');
    await this.fail(job, known ? error.message : 'the conversion failed');
  }

  private async fail({ file, lease, record }: ConversionJob, reason: string): Promise<void> {
    this.logger.info({ event: 'document.failed', threadId: file.threadId, reason }, 'a document was not converted');
    await this.store.settle(file, lease.token, { status: 'failed', source: record.source, reason });
  }

  /** Returns the fallback while the store is unavailable, so that uploads still work, without conversions. */
  private async orDefault<T>(fallback: T, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      this.logger.warn(
        { event: 'conversion.store', reason: error.message },
        'conversions of documents are unavailable: the store does not answer',
      );
      return fallback;
    }
  }
}
