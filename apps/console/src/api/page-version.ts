import { addressOf, ownScript } from './address.js';
import { Store } from './store.js';

const TIMEOUT_MS = 10_000;

/** The name of the script that a page starts; undefined when it is not a page of the console. */
export const scriptOf = (html: string): string | undefined => /src="[^"]*\bassets\/([\w.-]+\.js)"/.exec(html)?.[1];

/** Whether the gateway serves another version of this page than the one that runs. */
export class PageVersion {
  readonly isReplaced = new Store(false);

  constructor(
    private readonly own: () => string | undefined,
    /** Reads the page as it is served; undefined when there is no answer. */
    private readonly readPage: () => Promise<string | undefined>,
  ) {}

  /** Compares the two; the result is in `isReplaced`. */
  async check(): Promise<void> {
    const own = this.own();
    const page = await this.readPage();
    const served = page === undefined ? undefined : scriptOf(page);
    if (own !== undefined && served !== undefined) this.isReplaced.write(!own.endsWith(`/${served}`));
  }
}

export const pageVersion = new PageVersion(ownScript, async () => {
  try {
    const answer = await fetch(addressOf(''), {
      headers: { accept: 'text/html' },
      cache: 'no-cache',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return answer.ok ? await answer.text() : undefined;
  } catch {
    return undefined;
  }
});
