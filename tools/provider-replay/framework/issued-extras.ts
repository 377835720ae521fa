import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from './canonical-json.js';

const MAC_BYTES = 32;
const MAX_ISSUED = 100_000;

/** An opaque value that a server handed out, and what it stands for. */
export interface IssuedExtra {
  readonly kind: string;
  readonly token: string;
  readonly content: unknown;
}

/** `moved`: issued by this server, for other content or for another purpose. `forged`: never issued. */
export type Verdict = 'genuine' | 'moved' | 'forged';

/**
 * Issues opaque tokens (signatures, encrypted reasoning) that only come back genuine beside the content they were issued for.
 * A token is a nonce and an HMAC over its kind, the nonce and the content, so the order in which requests arrive does not matter.
 */
export class IssuedExtras {
  private readonly key = randomBytes(32);
  private readonly issued = new Map<string, IssuedExtra>();

  /** Returns a new base64 token for this content, of `nonceBytes + 32` bytes; no two are equal. */
  issue(kind: string, content: unknown, nonceBytes = 24): string {
    const nonce = randomBytes(nonceBytes);
    const token = Buffer.concat([nonce, this.mac(kind, nonce, content)]).toString('base64');
    this.issued.set(token, { kind, token, content: structuredClone(content) });
    if (this.issued.size > MAX_ISSUED) this.dropOldest();
    return token;
  }

  /** Whether this token was issued for exactly this content; object keys may come back in another order. */
  judge(kind: string, content: unknown, token: string): Verdict {
    const bytes = Buffer.from(token, 'base64');
    if (bytes.length > MAC_BYTES && bytes.toString('base64') === token) {
      const nonce = bytes.subarray(0, -MAC_BYTES);
      if (timingSafeEqual(bytes.subarray(-MAC_BYTES), this.mac(kind, nonce, content))) return 'genuine';
    }
    return this.issued.has(token) ? 'moved' : 'forged';
  }

  find(token: string): IssuedExtra | undefined {
    return this.issued.get(token);
  }

  /** What was issued, oldest first; the newest 100,000. */
  list(): IssuedExtra[] {
    return [...this.issued.values()];
  }

  private mac(kind: string, nonce: Buffer, content: unknown): Buffer {
    return createHmac('sha256', this.key)
      .update(`${kind.length}:${kind}`)
      .update(`${nonce.length}:`)
      .update(nonce)
      .update(canonicalJson(content))
      .digest();
  }

  private dropOldest(): void {
    const oldest = this.issued.keys().next();
    if (!oldest.done) this.issued.delete(oldest.value);
  }
}
