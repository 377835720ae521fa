import { type AnyTool, defineTool } from '@caribou/core';
import { z } from 'zod';

const Field = z.object({
  name: z.string().describe('Key of the value; unique in the form.'),
  label: z.string().describe('What the person reads, at most 200 characters.'),
  type: z
    .enum(['text', 'textarea', 'number', 'select', 'multi_select', 'checkbox', 'date'])
    .describe('How it is filled in; select and multi_select need options.'),
  required: z.boolean().optional(),
  placeholder: z.string().optional(),
  options: z.array(z.string()).optional().describe('At most 24.'),
});

const Input = z.object({
  question: z.string().min(1).describe('The question, specific and clear.'),
  clarification_type: z
    .enum(['missing_info', 'ambiguous_requirement', 'approach_choice', 'risk_confirmation', 'suggestion'])
    .describe('Why you ask.'),
  context: z.string().optional().describe('What the person needs to know to answer.'),
  options: z.array(z.string()).optional().describe('Answers to choose from; another answer stays possible.'),
  fields: z
    .array(Field)
    .optional()
    .describe('A form, when several values are needed at once: at most 16 fields. Leave options out then.'),
});

/**
 * Asks the user a question and ends the run; the reply starts the next one. The clarification middleware answers the
 * call instead, with icons, numbered options and data for clients; without it the result is the plain question.
 */
export function askClarificationTool(): AnyTool {
  return defineTool({
    name: 'ask_clarification',
    description:
      'Ask the person a question before you go on: information is missing, the request is ambiguous, several ' +
      'approaches are possible, something risky needs a yes, or you have a suggestion. The run stops after this call ' +
      'and goes on with the answer. Ask one thing at a time, or use fields for values that belong together, and do ' +
      'not ask what you can find out yourself.',
    input: Input,
    run: ({ question }) => Promise.resolve({ content: question, end: true }),
  });
}
