import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import type { ZipFile } from 'yauzl';
import { ByteCounter } from './byte-counter.js';
import { MAX_SKILL_FILE_BYTES, parseSkillFile, type SkillManifest } from './front-matter.js';
import type { ZipSource } from './open-zip.js';
import { type ArchiveFile, openSkillArchive, wrapArchiveErrors, quote, skillFileOf } from './skill-archive.js';
import { SkillDigest } from './skill-digest.js';
import { SkillRejectedError } from './skill-rejected.js';
import { MAX_SKILL_BYTES } from './skill-tree.js';

/** A private staging area for a skill's files. */
export interface SkillStage {
  /** Creates a file and its parent directories. @returns bytes written */
  write(
    segments: readonly string[],
    content: AsyncIterable<Uint8Array>,
    options: { readonly isProgram: boolean },
  ): Promise<number>;
}

export interface UnpackedSkill extends SkillManifest {
  /** Size of all its files. */
  readonly bytes: number;
  /** Hash of all its files with their paths, as lower-case hex. */
  readonly contentSha256: string;
}

/**
 * Unpacks a `.skill` archive into a stage. Bytes are counted during decompression regardless of the declared sizes, and
 * the parsed SKILL.md is the one that is written, even if the archive changes meanwhile. When this throws, the caller must
 * discard the stage.
 *
 * @throws {SkillRejectedError} for an invalid archive, forbidden entries or an invalid skill
 * @throws the signal's reason
 */
export async function unpackSkill(file: ZipSource, stage: SkillStage, signal: AbortSignal): Promise<UnpackedSkill> {
  const archive = await openSkillArchive(file);
  const { zip } = archive;
  const skillFile = skillFileOf(archive);
  const text = await textOf(zip, skillFile);
  const manifest = prefixErrors(() => parseSkillFile(text));
  const counter = new ByteCounter(MAX_SKILL_BYTES, signal);
  const digest = new SkillDigest();
  const write = async (segments: readonly string[], content: AsyncIterable<Uint8Array>, isProgram: boolean) =>
    stage.write(segments, digest.add(counter.count(content), { segments, isProgram }), { isProgram });
  await write(skillFile.segments, singleChunk(Buffer.from(text, 'utf8')), false);
  for (const file of archive.files.filter((one) => one !== skillFile))
    await write(file.segments, contentOf(zip, file), file.isProgram);
  return { ...manifest, bytes: counter.bytes, contentSha256: digest.sha256() };
}

/** Adds DeerFlow's prefix for an invalid SKILL.md to rejections. */
function prefixErrors<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof SkillRejectedError) throw new SkillRejectedError(`Invalid skill: ${error.message}`);
    throw error;
  }
}

async function textOf(zip: ZipFile, file: ArchiveFile): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of contentOf(zip, file)) {
    bytes += chunk.byteLength;
    if (bytes > MAX_SKILL_FILE_BYTES)
      throw new SkillRejectedError(`Invalid skill: SKILL.md has more than ${MAX_SKILL_FILE_BYTES} bytes`);
    chunks.push(chunk);
  }
  const content = Buffer.concat(chunks);
  if (!isUtf8(content)) throw new SkillRejectedError('Invalid skill: SKILL.md is not UTF-8');
  return content.toString('utf8');
}

/** Yields the decompressed bytes of a file and verifies their checksum. */
async function* contentOf(zip: ZipFile, { entry, segments }: ArchiveFile): AsyncGenerator<Uint8Array> {
  const damaged = `the member cannot be unpacked: ${quote(segments.join('/'))}`;
  const source = await wrapArchiveErrors(damaged, () => zip.openReadStreamPromise(entry));
  const chunks = (source as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  const head = new FileHead(segments);
  let sum = 0;
  try {
    for (;;) {
      const next = await wrapArchiveErrors(damaged, () => chunks.next());
      if (next.done === true) break;
      head.check(next.value);
      sum = crc32(next.value, sum);
      yield next.value;
    }
  } finally {
    await chunks.return?.();
  }
  if (sum !== entry.crc32) throw new SkillRejectedError(damaged);
}

async function* singleChunk(content: Uint8Array): AsyncGenerator<Uint8Array> {
  await Promise.resolve();
  yield content;
}

/** First bytes of executables: ELF, and Mach-O in both byte orders, also universal. Windows is checked separately. */
const MAGIC = ['7f454c46', 'feedface', 'feedfacf', 'cefaedfe', 'cffaedfe', 'cafebabe', 'bebafeca'];

const HEAD_BYTES = 64;

/** Detects executables by the first bytes of a file. */
class FileHead {
  private bytes = Buffer.alloc(0);

  constructor(private readonly segments: readonly string[]) {}

  /** @throws {SkillRejectedError} for a compiled program, which cannot be reviewed */
  check(chunk: Uint8Array): void {
    if (this.bytes.length === HEAD_BYTES) return;
    this.bytes = Buffer.concat([this.bytes, chunk.subarray(0, HEAD_BYTES - this.bytes.length)]);
    const isWindows = this.bytes.toString('latin1', 0, 2) === 'MZ' && this.bytes.includes(0);
    if (isWindows || MAGIC.includes(this.bytes.toString('hex', 0, 4)))
      throw new SkillRejectedError(`the member is a compiled program: ${quote(this.segments.join('/'))}`);
  }
}
