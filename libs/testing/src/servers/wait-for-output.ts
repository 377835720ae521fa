import { waitFor } from '../util/wait-for.js';

/** Anything that collects what processes write, such as a `TestService`. */
interface Writing {
  output(): string;
}

/**
 * Waits until a process has written a text. What it writes comes over a pipe, later than its other effects can be seen.
 *
 * @param times how often it must have been written, default 1
 * @returns everything written so far
 * @throws Error that names the text, with the end of the output, after `timeoutMs` (default 30 s)
 */
export async function waitForOutput(
  source: Writing,
  text: string | RegExp,
  { times = 1, timeoutMs = 30_000 }: { readonly times?: number; readonly timeoutMs?: number } = {},
): Promise<string> {
  const count = (): number =>
    typeof text === 'string'
      ? source.output().split(text).length - 1
      : [...source.output().matchAll(new RegExp(text.source, `${text.flags.replace('g', '')}g`))].length;
  const found = waitFor(() => count() >= times, { what: `${times} times ${String(text)} in the output`, timeoutMs });
  await found.catch((cause: unknown) => {
    throw new Error(`${String(cause)}:\n${source.output().slice(-2_000)}`, { cause });
  });
  return source.output();
}
