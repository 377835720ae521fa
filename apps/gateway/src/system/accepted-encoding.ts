import type { Encoding } from '@caribou/page-files';

/** By the size of what they make, the smallest first. */
const preferred: readonly Encoding[] = ['br', 'gzip'];

/**
 * The coding for an answer, by the client's `Accept-Encoding` (RFC 9110, section 12.5.3): of those that exist and that the client
 * accepts the one with the highest weight, and the smaller one of two with the same weight.
 *
 * @returns undefined for the plain content
 */
export function acceptedEncoding(
  header: string | undefined,
  existing: { has(encoding: Encoding): boolean },
): Encoding | undefined {
  const weights = weightsIn(header ?? '');
  const weightOf = (encoding: Encoding): number => weights.get(encoding) ?? weights.get('*') ?? 0;
  const [best] = preferred
    .filter((encoding) => existing.has(encoding) && weightOf(encoding) > 0)
    .sort((one, other) => weightOf(other) - weightOf(one));
  return best !== undefined && weightOf(best) >= (weights.get('identity') ?? 0) ? best : undefined;
}

function weightsIn(header: string): ReadonlyMap<string, number> {
  const entries = header.split(',').map((entry): [string, number] => {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    return [name === 'x-gzip' ? 'gzip' : name, weight === undefined ? 1 : Number(weight.slice(2)) || 0];
  });
  return new Map(entries);
}
