type Namespace = readonly string[];

export interface NamespaceQuery {
  readonly prefix?: Namespace | null | undefined;
  readonly suffix?: Namespace | null | undefined;
  /** Longer namespaces are cut to so many labels. */
  readonly max_depth?: number | null | undefined;
}

/** Whether the namespace begins with these labels. */
export const isBelow = (namespace: Namespace, prefix: Namespace): boolean =>
  prefix.every((label, at) => namespace[at] === label);

/** The namespaces that match, each once, sorted by their labels. */
export function listNamespaces(
  all: Iterable<Namespace>,
  { prefix, suffix, max_depth: depth }: NamespaceQuery,
): Namespace[] {
  const found = new Map<string, Namespace>();
  for (const namespace of all) {
    if (!matches(namespace, prefix ?? []) || !matches([...namespace].reverse(), [...(suffix ?? [])].reverse()))
      continue;
    const cut = namespace.slice(0, depth ?? namespace.length);
    found.set(JSON.stringify(cut), cut);
  }
  return [...found.values()].sort(compare);
}

const matches = (namespace: Namespace, pattern: Namespace): boolean =>
  pattern.every((label, at) => (label === '*' ? namespace[at] !== undefined : namespace[at] === label));

function compare(one: Namespace, other: Namespace): number {
  for (let at = 0; at < Math.min(one.length, other.length); at += 1) {
    const [left = '', right = ''] = [one[at], other[at]];
    if (left !== right) return left < right ? -1 : 1;
  }
  return one.length - other.length;
}
