import type { Delta } from '../../demo-model/reply.js';

/** Puts reasoning into the text of an answer, between two tags. */
export class InlineThinking {
  private open = false;

  constructor(
    private readonly before: string,
    private readonly after: string,
  ) {}

  /** The piece of content for a delta of text or thinking; undefined for one of a tool call, before which {@link close} is due. */
  piece(delta: Delta): string | undefined {
    if ('reasoning_content' in delta) {
      const text = this.open ? delta.reasoning_content : this.before + delta.reasoning_content;
      this.open = true;
      return text;
    }
    return 'content' in delta ? this.close() + delta.content : undefined;
  }

  /** The tag that ends the thinking, '' when it has ended. */
  close(): string {
    const text = this.open ? this.after : '';
    this.open = false;
    return text;
  }
}
