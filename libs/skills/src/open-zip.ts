import type { Readable } from 'node:stream';
import type { OpenFile } from '@caribou/core';
import { fromRandomAccessReaderPromise, type Options, RandomAccessReader, type ZipFile } from 'yauzl';

export type ZipSource = Pick<OpenFile, 'size' | 'stream'>;

/** Reads an archive wherever it lies. The reader's `end` is the position after the last byte. */
class FileReader extends RandomAccessReader {
  constructor(private readonly file: ZipSource) {
    super();
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return this.file.stream({ start, end: end - 1 });
  }
}

/** Opens an archive; the file stays open when the reader of the archive closes. @throws an error of the reader */
export const openZip = (file: ZipSource, options: Pick<Options, 'decodeStrings'> = {}): Promise<ZipFile> =>
  fromRandomAccessReaderPromise(new FileReader(file), file.size, { ...options, autoClose: false, lazyEntries: true });
