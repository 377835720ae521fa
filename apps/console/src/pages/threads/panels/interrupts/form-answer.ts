import { panels } from '../../../../text/panels.js';
import type { QuestionField } from './waiting.js';

/** What a person has filled in: a text, a tick, or several choices. */
export type FieldValue = string | boolean | readonly string[];
export type FieldValues = Readonly<Record<string, FieldValue>>;

/** A form as it is before anybody fills it in. */
export const emptyFields = (fields: readonly QuestionField[]): FieldValues =>
  Object.fromEntries(
    fields.map(({ name, type }) => [name, type === 'checkbox' ? false : type === 'multi_select' ? [] : '']),
  );

/** Labels of the needed fields that are empty. A tick that is missing is an answer. */
export const missingFields = (fields: readonly QuestionField[], values: FieldValues): readonly string[] =>
  fields
    .filter(({ isRequired, type, name }) => isRequired && type !== 'checkbox' && textOf(values[name] ?? '') === '')
    .map(({ label }) => label);

/** The answer as text, one line for each field that was filled in, as the agent reads it. */
export const formAnswer = (fields: readonly QuestionField[], values: FieldValues): string =>
  fields
    .map(({ label, name }) => ({ label, text: textOf(values[name] ?? '') }))
    .filter(({ text }) => text !== '')
    .map(({ label, text }) => `${label}: ${text}`)
    .join('\n');

function textOf(value: FieldValue): string {
  if (typeof value === 'string') return value.trim();
  if (typeof value === 'boolean') return value ? panels.interrupts.yes : panels.interrupts.no;
  return value.join(', ');
}
