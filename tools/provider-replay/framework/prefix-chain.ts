import { createHash, type Hash } from 'node:crypto';

/** What was before an opaque value in its conversation when it was issued. */
export interface Position {
  /** Digest of all parts before it, other opaque values left out. */
  readonly prefix: string;
  /** The opaque value directly before it; null: it was the first. */
  readonly previous: string | null;
}

/**
 * The parts of a conversation in order, so that a value which a model made can be bound to what was before it.
 * Parts are compared as text: the order of the keys of an object counts, as it does for a vendor's prompt cache.
 */
export class PrefixChain {
  private readonly hash: Hash = createHash('sha256');
  private previous: string | null = null;

  /** Adds a part that the conversation shows; `owner` is its role. */
  add(owner: string, part: unknown): void {
    const text = JSON.stringify(part) ?? 'null';
    this.hash.update(`${owner.length}:${owner}${text.length}:${text}`);
  }

  /** Adds an opaque value: it changes where later ones are, and not what they are bound to otherwise. */
  addOpaque(token: string): void {
    this.previous = token;
  }

  position(): Position {
    return { prefix: this.hash.copy().digest('base64'), previous: this.previous };
  }

  /** Whether a value that was issued at `issued` may come back here; a run of opaque values may be missing from the beginning. */
  accepts(issued: Position): boolean {
    const here = this.position();
    return here.prefix === issued.prefix && (here.previous === null || here.previous === issued.previous);
  }
}
