import { createHash } from 'node:crypto';

/** Hashes the files of a skill: the same for all archives that unpack to the same files. */
export class SkillDigest {
  private readonly files: string[] = [];

  /** Passes the chunks of a file on. The file counts once they were read to the end. */
  async *add(
    content: AsyncIterable<Uint8Array>,
    { segments, isProgram }: { readonly segments: readonly string[]; readonly isProgram: boolean },
  ): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256');
    for await (const chunk of content) {
      hash.update(chunk);
      yield chunk;
    }
    this.files.push(JSON.stringify([segments, isProgram, hash.digest('hex')]));
  }

  /** The hash of the files that were added, in whatever order, as lower-case hex. */
  sha256(): string {
    return createHash('sha256').update(this.files.toSorted().join('\n')).digest('hex');
  }
}
