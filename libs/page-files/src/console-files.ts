import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import { BugError } from '@caribou/contracts';
import { errnoOf } from '@caribou/core';

/** Codings of content that the build makes besides the plain file. */
export type Encoding = 'br' | 'gzip';

export interface ConsoleFile {
  readonly contentType: string;
  /** A hash of the plain content. */
  readonly hash: string;
  readonly content: Buffer;
  /** The compressed content by its coding; a file that does not get smaller has none. */
  readonly encoded: ReadonlyMap<Encoding, Buffer>;
}

/** The console as it was built: `dist/console`, seen from `dist/libs/page-files/src`. Code that runs from source has none. */
const BUILT_CONSOLE = join(__dirname, '../../../console');
/** All files together, compressed ones too; they are held in memory. */
const MAX_BYTES = 64 * 1024 * 1024;
const FILES_AT_ONCE = 16;

const suffixes: ReadonlyMap<string, Encoding> = new Map([
  ['.br', 'br'],
  ['.gz', 'gzip'],
]);

const contentTypes: ReadonlyMap<string, string> = new Map([
  ['.css', 'text/css; charset=utf-8'],
  ['.html', 'text/html; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.json', 'application/json; charset=utf-8'],
  ['.png', 'image/png'],
  ['.svg', 'image/svg+xml'],
  ['.webp', 'image/webp'],
  ['.woff2', 'font/woff2'],
]);

/**
 * The files of the console. The folder is read once, when the first file is requested, and then served from memory: a name that was
 * not found then is never looked up on the disk, and a build that replaces the folder does not mix two versions.
 */
export class ConsoleFiles {
  private files: Promise<ReadonlyMap<string, ConsoleFile>> | undefined;

  constructor(private readonly folder = BUILT_CONSOLE) {}

  /**
   * @param name path below the folder with `/`, such as `assets/index-B3JMO2mb.css`
   * @returns undefined when there is no file of this name, or the console was not built
   */
  async get(name: string): Promise<ConsoleFile | undefined> {
    this.files ??= this.read();
    return (await this.files).get(name);
  }

  /** A folder that is missing, or was replaced while it was read, is read again for the next request. */
  private async read(): Promise<ReadonlyMap<string, ConsoleFile>> {
    const contents = await readFolder(this.folder).catch((error: unknown) => {
      this.files = undefined;
      throw error;
    });
    if (contents.size === 0) this.files = undefined;
    return new Map(
      [...contents]
        .filter(([name]) => !suffixes.has(extname(name)))
        .map(([name, content]) => [name, toConsoleFile(name, content, contents)]),
    );
  }
}

function toConsoleFile(name: string, content: Buffer, contents: ReadonlyMap<string, Buffer>): ConsoleFile {
  const encoded = [...suffixes].flatMap(([suffix, encoding]): [Encoding, Buffer][] => {
    const bytes = contents.get(`${name}${suffix}`);
    return bytes === undefined ? [] : [[encoding, bytes]];
  });
  return {
    contentType: contentTypes.get(extname(name)) ?? 'application/octet-stream',
    hash: createHash('sha256').update(content).digest('base64url').slice(0, 22),
    content,
    encoded: new Map(encoded),
  };
}

/** The content of all files below a folder, by path; nothing for a missing folder. */
async function readFolder(folder: string): Promise<ReadonlyMap<string, Buffer>> {
  const names = await namesBelow(folder);
  const contents = new Map<string, Buffer>();
  let bytes = 0;
  const waiting = [...names];
  const readNext = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const content = await readFile(join(folder, name));
      bytes += content.byteLength;
      if (bytes > MAX_BYTES) throw new BugError(`the files of the console are larger than ${MAX_BYTES} bytes`);
      contents.set(name, content);
    }
  };
  await Promise.all(Array.from({ length: FILES_AT_ONCE }, readNext));
  return contents;
}

async function namesBelow(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true, recursive: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}
