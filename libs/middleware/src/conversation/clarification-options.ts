export const MAX_OPTIONS = 24;
export const MAX_LABEL_CHARS = 200;

/**
 * Parses options in the formats that models send: a list of strings or objects, an object of them, either as a JSON
 * string, `<option>` elements, or lines. Returns at most 24, cut at 200 characters each, without empty and repeated
 * ones.
 */
export function parseOptions(value: unknown): readonly string[] {
  return distinct(readLabels(value).map((label) => Array.from(label).slice(0, MAX_LABEL_CHARS).join(''))).slice(
    0,
    MAX_OPTIONS,
  );
}

/** All labels in the options, not shortened, without empty and repeated ones. */
export const readLabels = (value: unknown): readonly string[] => distinct(labelsOf(value));

const distinct = (labels: readonly string[]): readonly string[] => [
  ...new Set(labels.map((label) => label.trim()).filter((label) => label !== '')),
];

function labelsOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.map(labelOf);
  if (typeof value === 'string') return labelsOfText(value);
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    const [only] = entries;
    // A wrapper such as {"options": [...]}.
    if (entries.length === 1 && only !== undefined && Array.isArray(only[1])) return labelsOf(only[1]);
    return entries.map(([, entry]) => labelOf(entry));
  }
  return [];
}

function labelOf(entry: unknown): string {
  if (typeof entry === 'string') return entry;
  if (typeof entry === 'number' || typeof entry === 'boolean') return String(entry);
  if (typeof entry !== 'object' || entry === null) return '';
  const fields: Readonly<Record<string, unknown>> = { ...entry };
  const label = [fields['label'], fields['text'], fields['title'], fields['value'], fields['name']].find(
    (field) => typeof field === 'string' && field.trim() !== '',
  );
  return typeof label === 'string' ? label : '';
}

function labelsOfText(text: string): readonly string[] {
  const trimmed = text.trim();
  if (/^[[{"]/.test(trimmed)) {
    const parsed = parseJson(trimmed);
    if (parsed !== undefined) return typeof parsed === 'string' ? [parsed] : labelsOf(parsed);
  }
  const elements = [...trimmed.matchAll(/<(option|item|li)\b[^>]*>([\s\S]*?)<\/\1>/gi)].map((match) => match[2] ?? '');
  if (elements.length > 0) return elements;
  return trimmed.split('\n').map((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, ''));
}

/** The value of a JSON text; undefined when it is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
