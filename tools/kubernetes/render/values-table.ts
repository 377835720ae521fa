import { isMap, isScalar, type Pair, parseDocument, stringify, type YAMLMap } from 'yaml';

/** A value of the chart, as values.yaml describes it. */
export interface ValueRow {
  /** With dots, such as `gateway.service.port`. */
  readonly path: string;
  /** As YAML in one line. */
  readonly fallback: string;
  /** Empty where values.yaml has no comment. */
  readonly about: string;
}

/**
 * Lists the values of a values.yaml in its order. A map in block form is described by its keys, one in flow form or an empty one is
 * a value.
 */
export function valueRows(text: string): ValueRow[] {
  const { contents } = parseDocument(text);
  if (!isMap(contents)) throw new Error('values.yaml: must be a map');
  return rowsOf(contents, '');
}

function rowsOf(map: YAMLMap, prefix: string): ValueRow[] {
  // A comment before the first key of a map is that of the map.
  return map.items.flatMap((pair, index) => {
    const path = `${prefix}${nameOf(pair)}`;
    const about = commentOf(pair) || (index === 0 ? clean(map.commentBefore ?? '') : '');
    const { value } = pair;
    if (isMap(value) && value.flow !== true && value.items.length > 0 && !isData(value)) {
      return [{ path, fallback: '', about }, ...rowsOf(value, `${path}.`)];
    }
    return [{ path, fallback: inOneLine(value), about }];
  });
}

/** Whether the keys of a map are data and no values of the chart: annotations, quantities. */
const isData = (map: YAMLMap): boolean =>
  map.items.some((pair) => /[./]/.test(nameOf(pair))) ||
  map.items.every((pair) => isMap(pair.value) && pair.value.flow === true);

const nameOf = ({ key }: Pair): string => (isScalar(key) ? String(key.value) : String(key));

function commentOf({ key }: Pair): string {
  return isScalar(key) ? clean(key.commentBefore ?? '') : '';
}

/** The last paragraph of a comment, in one line. */
const clean = (comment: string): string =>
  (comment.split(/\n\s*\n/).at(-1) ?? '')
    .split('\n')
    .map((line) => line.trim())
    .join(' ')
    .trim();

const inOneLine = (value: unknown): string =>
  stringify(value, { collectionStyle: 'flow', lineWidth: 0, singleQuote: true })
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ');

const cell = (text: string): string => text.replaceAll('|', '\\|');

/** The table of docs/kubernetes-values.md. */
export function renderValuesTable(rows: readonly ValueRow[]): string {
  const lines = rows.map(
    ({ path, fallback, about }) =>
      `| \`${path}\` | ${fallback === '' ? '' : `\`${cell(fallback)}\``} | ${cell(about)} |`,
  );
  return ['| value | default | meaning |', '|---|---|---|', ...lines].join('\n');
}
