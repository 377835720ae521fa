import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import type { ZipFile } from 'yauzl';
import { ByteCounter } from './byte-counter.js';
import { MAX_SKILL_FILE_BYTES, parseSkillFile, type SkillManifest } from './front-matter.js';
import { type ArchiveFile, openSkillArchive, readable, shown, skillFileOf } from './skill-archive.js';
import { SkillRejectedError } from './skill-rejected.js';
import { MAX_SKILL_BYTES } from './skill-tree.js';

/** Where a skill's files are written, out of everybody's sight. */
export interface SkillStage {
  /** Makes a file and the directories above it. @returns bytes written */
  write(
    segments: readonly string[],
    content: AsyncIterable<Uint8Array>,
    options: { readonly isProgram: boolean },
  ): Promise<number>;
}

export interface UnpackedSkill extends SkillManifest {
  /** Of all its files. */
  readonly bytes: number;
}

/**
 * Unpacks a `.skill` archive into a stage. Bytes are counted while they are inflated, whatever the entries claim, and
 * what is parsed is what was written, so that the archive may change under it. What stands in the stage when this throws
 * is of no use.
 *
 * @throws {SkillRejectedError} for an archive that is none, holds what must not be unpacked, or no valid skill
 * @throws the signal's reason
 */
export async function unpackSkill(fd: number, stage: SkillStage, signal: AbortSignal): Promise<UnpackedSkill> {
  const archive = await openSkillArchive(fd);
  const { zip } = archive;
  const skillFile = skillFileOf(archive);
  const text = await textOf(zip, skillFile);
  const manifest = asSkill(() => parseSkillFile(text));
  const counter = new ByteCounter(MAX_SKILL_BYTES, signal);
  const own = once(Buffer.from(text, 'utf8'));
  await stage.write(skillFile.segments, counter.counted(own), { isProgram: false });
  for (const file of archive.files.filter((one) => one !== skillFile)) {
    const { segments, isProgram } = file;
    await stage.write(segments, counter.counted(contentOf(zip, file)), { isProgram });
  }
  return { ...manifest, bytes: counter.bytes };
}

/** The words in which an install is refused for what its SKILL.md holds. */
function asSkill<T>(read: () => T): T {
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

/** The inflated bytes of a file, checked against their sum. */
async function* contentOf(zip: ZipFile, { entry, segments }: ArchiveFile): AsyncGenerator<Uint8Array> {
  const damaged = `the member cannot be unpacked: ${shown(segments.join('/'))}`;
  const source = await readable(damaged, () => zip.openReadStreamPromise(entry));
  const chunks = (source as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  const head = new Head(segments);
  let sum = 0;
  try {
    for (;;) {
      const next = await readable(damaged, () => chunks.next());
      if (next.done === true) break;
      head.see(next.value);
      sum = crc32(next.value, sum);
      yield next.value;
    }
  } finally {
    await chunks.return?.();
  }
  if (sum !== entry.crc32) throw new SkillRejectedError(damaged);
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  await Promise.resolve();
  yield content;
}

/** Beginnings of programs for a machine: ELF, Mach-O (in both byte orders, one or several machines), Windows. */
const MAGIC = ['7f454c46', 'feedface', 'feedfacf', 'cefaedfe', 'cffaedfe', 'cafebabe', 'bebafeca'];

const HEAD_BYTES = 64;

/** The beginning of a file, looked at as it grows. */
class Head {
  private bytes = Buffer.alloc(0);

  constructor(private readonly segments: readonly string[]) {}

  /** @throws {SkillRejectedError} for a program that nobody can read before it runs */
  see(chunk: Uint8Array): void {
    if (this.bytes.length === HEAD_BYTES) return;
    this.bytes = Buffer.concat([this.bytes, chunk.subarray(0, HEAD_BYTES - this.bytes.length)]);
    const isWindows = this.bytes.toString('latin1', 0, 2) === 'MZ' && this.bytes.includes(0);
    if (isWindows || MAGIC.includes(this.bytes.toString('hex', 0, 4)))
      throw new SkillRejectedError(`the member is a compiled program: ${shown(this.segments.join('/'))}`);
  }
}
