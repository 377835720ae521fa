import { TooLargeError } from '@caribou/contracts';
import type { GatewaySettings } from '../../settings.js';

type Limits = Pick<GatewaySettings['uploads'], 'maxFiles' | 'maxFileSize' | 'maxTotalSize'>;

/** Counts the files of one request and their bytes against the limits of uploads. */
export class UploadLimits {
  private files = 0;
  private totalBytes = 0;

  constructor(private readonly limits: Limits) {}

  /** @throws {TooLargeError} for one file too many */
  addFile(): void {
    this.files += 1;
    const { maxFiles } = this.limits;
    if (this.files > maxFiles) throw new TooLargeError(`Too many files: at most ${maxFiles} in a request`);
  }

  /**
   * The content of a file, counted while it is read. A file without a name is not stored and counts for the request only.
   *
   * @throws {TooLargeError} as soon as the file or the request is too large
   */
  async *count(content: AsyncIterable<Uint8Array>, name: string | null): AsyncGenerator<Uint8Array> {
    const { maxFileSize, maxTotalSize } = this.limits;
    let bytes = 0;
    for await (const chunk of content) {
      bytes += chunk.byteLength;
      this.totalBytes += chunk.byteLength;
      if (this.totalBytes > maxTotalSize)
        throw new TooLargeError(`Total upload size too large: at most ${maxTotalSize} bytes`);
      if (name !== null && bytes > maxFileSize)
        throw new TooLargeError(`File too large: ${name}, at most ${maxFileSize} bytes`);
      yield chunk;
    }
  }
}
