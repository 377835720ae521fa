import { Injectable } from '@nestjs/common';
import {
  BadRequestError,
  ConflictError,
  TooLargeError,
  type UploadListReply,
  type UploadReply,
} from '@caribou/contracts';
import { parseVirtualPath, type ThreadKey } from '@caribou/core';
import { type FileEntry, FileRefusedError, type StagedFile, type UserFiles } from '@caribou/files';
import { answeringRefusals } from '../../http/file-answer.js';
import { Dependency } from '../../dependency.js';
import type { GatewaySettings } from '../../settings.js';
import { DocumentConversions } from './document-conversions.js';
import type { FileLimits, FilePart } from './multipart.js';
import { freeName, safeName } from './safe-name.js';
import { uploadJson, uploadPath } from './upload-json.js';

type Intake = Awaited<ReturnType<UserFiles['openIntake']>>;

/** A received file and the name it shall have. */
interface Received {
  readonly staged: StagedFile;
  readonly name: string;
  readonly sent: string;
}

interface Request {
  readonly received: Received[];
  readonly skipped: string[];
}

interface PublishedFile {
  readonly entry: FileEntry;
  /** The name its sender gave it. */
  readonly sent: string;
}

interface Published {
  readonly files: readonly PublishedFile[];
  readonly skipped: string[];
}

const FIELD = 'files';
const MAX_LISTED = 1_000;
const IDLE_MS = 60_000;
/** Characters of a skipped name that are repeated to the client. */
const MAX_SHOWN = 255;

/** Uploads of threads, for one owner at a time; the thread need not exist. */
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

  /** For the parser of a request. */
  fileLimits(): FileLimits {
    return {
      maxFiles: this.settings.uploads.maxFiles,
      maxFileBytes: this.settings.uploads.maxFileSize,
      idleMs: IDLE_MS,
    };
  }

  /**
   * Keeps all files of a request, or none when one is too much.
   *
   * @throws {TooLargeError} over a limit, as soon as it is passed
   * @throws {BadRequestError} without a file
   * @throws {ConflictError} when the thread was deleted meanwhile
   */
  async upload(key: ThreadKey, parts: AsyncIterable<FilePart>): Promise<UploadReply> {
    const published = await answeringRefusals('uploads', async () => {
      const intake = await this.files.openIntake(key);
      try {
        const files = await publish(await this.receive(intake, parts));
        await this.enter(key, intake, files);
        return files;
      } finally {
        await intake.close();
      }
    });
    return this.replyTo(key, published);
  }

  /** A thread that was deleted while its files came in keeps nothing of them. @throws {ConflictError} */
  private async enter(key: ThreadKey, intake: Intake, { files }: Published): Promise<void> {
    const entries = files.map(({ entry }) => entry);
    await this.conversions.begin(key, entries);
    await this.conversions.note(key, entries);
    if (await intake.isCurrent()) return;
    await this.conversions.withdraw(key, entries);
    throw new ConflictError('the thread was deleted while the files were received');
  }

  private async replyTo(key: ThreadKey, { files, skipped }: Published): Promise<UploadReply> {
    const listed = await answeringRefusals('uploads', () => this.files.list(key, 'uploads', MAX_LISTED));
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
    const { files, truncated } = await answeringRefusals('uploads', () => this.files.list(key, 'uploads', MAX_LISTED));
    const states = await this.conversions.tend(key, files);
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
    await answeringRefusals(filename, () => this.files.remove(key, uploadPath(filename)));
    return { success: true as const, message: `Deleted ${filename}` };
  }

  private async receive(intake: Intake, parts: AsyncIterable<FilePart>): Promise<Request> {
    const { maxFiles, maxFileSize, maxTotalSize } = this.settings.uploads;
    const request: Request = { received: [], skipped: [] };
    const taken = new Set<string>();
    let count = 0;
    let total = 0;
    for await (const part of parts) {
      count += 1;
      if (count > maxFiles) throw new TooLargeError(`Too many files: at most ${maxFiles} in a request`);
      const content = counted(part.content, (bytes) => {
        total += bytes;
        if (total > maxTotalSize) throw new TooLargeError(`Total upload size too large: at most ${maxTotalSize} bytes`);
      });
      const safe = part.field === FIELD ? safeName(part.name) : null;
      const name = safe === null ? null : freeName(safe, taken);
      if (name === null) {
        for await (const _ of content);
        if (part.field === FIELD) request.skipped.push(part.name.slice(0, MAX_SHOWN));
        continue;
      }
      taken.add(name);
      const staged = await received(intake, { name, content, maxFileSize });
      request.received.push({ staged, name, sent: safe ?? name });
    }
    if (request.received.length + request.skipped.length === 0) throw new BadRequestError('No files provided');
    return request;
  }
}

async function* counted(
  content: AsyncIterable<Uint8Array>,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    count(chunk.byteLength);
    yield chunk;
  }
}

async function received(
  intake: Intake,
  file: { readonly name: string; readonly content: AsyncIterable<Uint8Array>; readonly maxFileSize: number },
): Promise<StagedFile> {
  try {
    return await intake.receive(file.content, file.maxFileSize);
  } catch (error) {
    if (error instanceof FileRefusedError && error.reason === 'too_large') {
      throw new TooLargeError(`File too large: ${file.name}, at most ${file.maxFileSize} bytes`, { cause: error });
    }
    throw error;
  }
}

/** What a file's name is refused for, not the request: something that is no file stands there. */
const isSkip = (error: unknown): boolean =>
  error instanceof FileRefusedError && (error.reason === 'not_regular' || error.reason === 'is_directory');

async function publish({ received: all, skipped }: Request): Promise<Published> {
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
