import { MAX_LABEL_CHARS, MAX_OPTIONS, parseJson, readLabels } from './clarification-options.js';

const MAX_FIELDS = 16;
const MAX_FORM_BYTES = 16_384;

/** Input types of a field in the web client; `select` and `multi_select` have options. */
export const FIELD_TYPES = ['text', 'textarea', 'number', 'select', 'multi_select', 'checkbox', 'date'] as const;
type FieldType = (typeof FIELD_TYPES)[number];

/** An option as rendered by the web client. */
export interface ShownOption {
  readonly id: string;
  readonly label: string;
  readonly value: string;
}

/** A field as rendered by the web client; names are unique in a form. */
export interface FormField {
  readonly name: string;
  readonly label: string;
  readonly type: FieldType;
  readonly required: boolean;
  readonly placeholder?: string;
  readonly options?: readonly ShownOption[];
}

/** The form that the model requested, or lines of text when the form cannot be rendered as intended. */
export interface RequestedForm {
  /** The fields; undefined when there are none, one of them is invalid, or a limit is exceeded. */
  readonly fields: readonly FormField[] | undefined;
  /** The questions, one line each, in at most 16,384 bytes. */
  readonly lines: readonly string[];
}

export const toOptions = (labels: readonly string[]): readonly ShownOption[] =>
  labels.map((label, index) => ({ id: `option-${index + 1}`, label, value: label }));

/**
 * The form in the `fields` of a question: a list, the same as a JSON string, or an object that wraps it. A form with an
 * invalid field, over 16 fields, 24 options in one, 200 characters in a label, or 16,384 bytes (UTF-8, as JSON) is
 * shown as text, because an incomplete form would get an incomplete answer.
 */
export function parseForm(value: unknown): RequestedForm {
  const entries = entriesOf(value);
  const readings = entries.slice(0, MAX_FIELDS).map(readField);
  const fields = readings.flatMap(({ field }) => field ?? []);
  const lines = readings.flatMap(({ line }) => line ?? []);
  const whole = fields.length === entries.length && fields.length > 0;
  const distinct = new Set(fields.map(({ name }) => name)).size === fields.length;
  const fits = whole && distinct && Buffer.byteLength(JSON.stringify(fields)) <= MAX_FORM_BYTES;
  return { fields: fits ? fields : undefined, lines: withinBytes(lines, MAX_FORM_BYTES) };
}

function entriesOf(value: unknown): readonly unknown[] {
  const parsed = typeof value === 'string' ? parseJson(value) : value;
  if (Array.isArray(parsed)) return parsed;
  if (typeof parsed !== 'object' || parsed === null) return [];
  const parts: readonly unknown[] = Object.values(parsed);
  return parts.length === 1 && Array.isArray(parts[0]) ? parts[0] : [];
}

interface Reading {
  /** The field as text. */
  readonly line?: string;
  /** The field as rendered by the web client, if it is valid. */
  readonly field?: FormField;
}

function readField(entry: unknown): Reading {
  const parts = partsOf(entry);
  if (parts === undefined) return {};
  const line = lineOf(parts);
  const field = fieldOf(parts);
  return field === undefined ? { line } : { line, field };
}

/** A field as requested; `type` is undefined when its name is not a known type. */
interface Parts {
  readonly name: string;
  readonly label: string;
  readonly type: FieldType | undefined;
  readonly required: boolean;
  readonly placeholder: string;
  readonly options: readonly string[];
}

function partsOf(entry: unknown): Parts | undefined {
  const given = typeof entry === 'string' ? { label: entry } : entry;
  if (typeof given !== 'object' || given === null) return undefined;
  const parts: Readonly<Record<string, unknown>> = { ...given };
  const [name, label, placeholder] = [
    toTrimmedText(parts['name']),
    toTrimmedText(parts['label']),
    toTrimmedText(parts['placeholder']),
  ];
  if (name === '' && label === '') return undefined;
  const options = readLabels(parts['options']);
  return {
    name: name || label,
    label: label || name,
    placeholder,
    options,
    type: typeOf(parts['type'], options),
    required: parts['required'] === true || parts['required'] === 'true',
  };
}

function fieldOf({ name, label, type, required, placeholder, options }: Parts): FormField | undefined {
  if (type === undefined || ![name, label, placeholder, ...options].every(isShort)) return undefined;
  const chooses = type === 'select' || type === 'multi_select';
  if (chooses && !isChoice(options)) return undefined;
  return {
    name,
    label,
    type,
    required,
    ...(placeholder === '' ? {} : { placeholder }),
    ...(chooses ? { options: toOptions(options) } : {}),
  };
}

const toTrimmedText = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');
const isShort = (text: string): boolean => Array.from(text).length <= MAX_LABEL_CHARS;
const isChoice = (options: readonly string[]): boolean => options.length > 0 && options.length <= MAX_OPTIONS;

/** Parses the type; undefined for an unknown one. Without a type, a field with options is a choice. */
function typeOf(name: unknown, options: readonly string[]): FieldType | undefined {
  if (name === undefined || name === null) return options.length > 0 ? 'select' : 'text';
  return FIELD_TYPES.find((type) => type === name);
}

const hints: Readonly<Record<FieldType, string>> = {
  text: '',
  textarea: '',
  number: 'a number',
  select: 'one of',
  multi_select: 'any of',
  checkbox: 'yes or no',
  date: 'a date',
};

function lineOf({ label, type = 'text', required, options }: Parts): string {
  const shown = options.slice(0, MAX_OPTIONS).map(cut).join(', ');
  const hint = shown === '' ? hints[type] : `${hints[type] || 'one of'}: ${shown}`;
  const said = [hint, required ? 'required' : ''].filter((part) => part !== '').join('; ');
  return said === '' ? cut(label) : `${cut(label)} (${said})`;
}

const cut = (text: string): string => Array.from(text).slice(0, MAX_LABEL_CHARS).join('');

/** The first lines that fit within the limit together. */
function withinBytes(lines: readonly string[], maxBytes: number): readonly string[] {
  let bytes = 0;
  return lines.filter((line) => (bytes += Buffer.byteLength(line)) <= maxBytes);
}
