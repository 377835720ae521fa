import { z } from 'zod';

/** Fields of a state that can be read alone, besides `values.<channel>`. */
export const STATE_FIELDS = [
  'values',
  'next',
  'tasks',
  'checkpoint',
  'metadata',
  'created_at',
  'parent_checkpoint',
  'interrupts',
] as const;

const MAX_FIELDS = 50;
const MAX_CHARS = 200;

const VALUE = /^values\.[^.]+$/;
const fields = new Set<string>(STATE_FIELDS);

/** One field of a state that a client selects: a name of `STATE_FIELDS`, or `values.<channel>`. */
const StateField = z
  .string()
  .max(MAX_CHARS)
  .refine(
    (name) => fields.has(name) || VALUE.test(name),
    `must be one of ${STATE_FIELDS.join(', ')}, values.<channel>`,
  );

/** The fields of a state that a client selects; none: all. */
export const StateSelect = z.array(StateField).max(MAX_FIELDS);
