import { Injectable } from '@nestjs/common';
import { BadRequestError, ConflictError, type UploadListReply, type UploadReply } from '@caribou/contracts';
import { parseVirtualPath, type ThreadKey } from '@caribou/core';
import { type FileEntry, FileRefusedError, type StagedFile, type UserFiles } from '@caribou/files';
import type { FastifyRequest } from 'fastify';
import { drainRequest } from '../../http/drain-request.js';
import { mapFileRefusals } from '../../http/file-answer.js';
import { Dependency } from '../../dependency.js';
import type { GatewaySettings } from '../../settings.js';
import { DocumentConversions } from './document-conversions.js';
import { type FilePart, readFileParts } from './multipart.js';
import { freeName, safeName } from './safe-name.js';
import { uploadJson, uploadPath } from './upload-json.js';
import { UploadLimits } from './upload-limits.js';

type Intake = Awaited<ReturnType<UserFiles['openIntake']>>;

/** A received file and the name that it is published under. */
interface Received {
  readonly staged: StagedFile;
  readonly name: string;
  readonly sent: string;
}

interface ReceivedFiles {
  readonly received: Received[];
  readonly skipped: string[];
}

interface PublishedFile {
  readonly entry: FileEntry;
  /** The name under which the client sent the file. */
  readonly sent: string;
}

interface Published {
  readonly files: readonly PublishedFile[];
  readonly skipped: string[];
}

const FIELD = 'files';
const MAX_LISTED = 1_000;
/** Maximum characters of a skipped name in the reply. */
const MAX_SHOWN = 255;

/** The uploads of a user's threads; a thread need not exist yet. */
@Injectable()
export class UploadsService {
  constructor(
    @Dependency('userFiles') private readonly files: UserFiles,
    @Dependency('settings') private readonly settings: GatewaySettings,
    private readonly conversions: DocumentConversions,
  ) {}

  limits() {
    const { maxFiles, maxFileSize, maxTotalSize } = this.settings.uploads;
    return { max_files: maxFiles, max_file_size: maxFileSize, max_total_size: maxTotalSize };
  }

  /**
   * Stores all files of a request, or none when a limit is exceeded.
   *
   * @throws {TooLargeError} as soon as a limit is exceeded
   * @throws {BadRequestError} without a file
   * @throws {ConflictError} when the thread was deleted meanwhile
   */
  async upload(key: ThreadKey, request: FastifyRequest): Promise<UploadReply> {
    try {
      return await this.replyTo(key, await mapFileRefusals('uploads', () => this.store(key, request)));
    } finally {
      drainRequest(request, this.settings.uploads.maxTotalSize);
    }
  }

  private async store(key: ThreadKey, request: FastifyRequest): Promise<Published> {
    const intake = await this.files.openIntake(key);
    try {
      const published = await publish(await this.receive(intake, readFileParts(request)));
      await this.register(key, intake, published);
      return published;
    } finally {
      await intake.close();
    }
  }

  /** Registers the files; a thread that was deleted while they came in stores none of them. @throws {ConflictError} */
  private async register(key: ThreadKey, intake: Intake, { files }: Published): Promise<void> {
    const entries = files.map(({ entry }) => entry);
    await this.conversions.begin(key, entries);
    await this.conversions.note(key, entries);
    if (await intake.isCurrent()) return;
    await this.conversions.withdraw(key, entries);
    throw new ConflictError('the thread was deleted while the files were received');
  }

  private async replyTo(key: ThreadKey, { files, skipped }: Published): Promise<UploadReply> {
    const listed = await mapFileRefusals('uploads', () => this.files.list(key, 'uploads', MAX_LISTED));
    const states = await this.conversions.states(key, listed.files);
    const skips = skipped.length === 0 ? '' : `; skipped ${skipped.length} file(s)`;
    return {
      success: skipped.length === 0,
      message: `Successfully uploaded ${files.length} file(s)${skips}`,
      files: files.map(({ entry, sent }) => ({
        ...uploadJson(key.threadId, entry, states.get(entry.name)),
        ...(entry.name === sent ? {} : { original_filename: sent }),
      })),
      skipped_files: skipped,
    };
  }

  async list(key: ThreadKey): Promise<UploadListReply> {
    const { files, truncated } = await mapFileRefusals('uploads', () => this.files.list(key, 'uploads', MAX_LISTED));
    const states = await this.conversions.resumePending(key, files);
    return {
      files: files.map((entry) => uploadJson(key.threadId, entry, states.get(entry.name))),
      count: files.length,
      truncated,
    };
  }

  /** @throws {NotFoundError} when there is no such file */
  async remove(key: ThreadKey, filename: string) {
    const parsed = filename.includes('/') ? null : parseVirtualPath(uploadPath(filename));
    if (parsed?.segments.length !== 1) throw new BadRequestError('this is no file name');
    await this.conversions.forget({ ...key, filename });
    await mapFileRefusals(filename, () => this.files.remove(key, uploadPath(filename)));
    return { success: true as const, message: `Deleted ${filename}` };
  }

  private async receive(intake: Intake, parts: AsyncIterable<FilePart>): Promise<ReceivedFiles> {
    const limits = new UploadLimits(this.settings.uploads);
    const files: ReceivedFiles = { received: [], skipped: [] };
    const taken = new Set<string>();
    for await (const part of parts) {
      limits.addFile();
      const safe = part.field === FIELD ? safeName(part.name) : null;
      const name = safe === null ? null : freeName(safe, taken);
      const content = limits.count(part.content, name);
      if (name === null) {
        for await (const _ of content);
        if (part.field === FIELD) files.skipped.push(part.name.slice(0, MAX_SHOWN));
        continue;
      }
      taken.add(name);
      const staged = await intake.receive(content, this.settings.uploads.maxFileSize);
      files.received.push({ staged, name, sent: safe ?? name });
    }
    if (files.received.length + files.skipped.length === 0) throw new BadRequestError('No files provided');
    return files;
  }
}

/** Whether the error concerns only this name, because something other than a file has it. */
const isSkip = (error: unknown): boolean =>
  error instanceof FileRefusedError && (error.reason === 'not_regular' || error.reason === 'is_directory');

async function publish({ received: all, skipped }: ReceivedFiles): Promise<Published> {
  const files: PublishedFile[] = [];
  const left = [...skipped];
  for (const { staged, name, sent } of all) {
    try {
      files.push({ entry: await staged.publish(name), sent });
    } catch (error) {
      if (!isSkip(error)) throw error;
      left.push(name);
    }
  }
  return { files, skipped: left };
}
