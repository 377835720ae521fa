import { type AnyTool, defineTool } from '@caribou/core';
import { z } from 'zod';

const Input = z.object({
  question: z.string().min(1).describe('The question, specific and clear.'),
  clarification_type: z
    .enum(['missing_info', 'ambiguous_requirement', 'approach_choice', 'risk_confirmation', 'suggestion'])
    .describe('Why you ask.'),
  context: z.string().optional().describe('What the person needs to know to answer.'),
  options: z.array(z.string()).optional().describe('Answers to choose from; another answer stays possible.'),
});

/**
 * Asks the person and ends the run; the reply starts the next one. The clarification middleware answers the call
 * before it gets here, with icons, numbered options and data for the interface; without it the bare question is told.
 */
export function askClarificationTool(): AnyTool {
  return defineTool({
    name: 'ask_clarification',
    description:
      'Ask the person a question before you go on: information is missing, the request is ambiguous, several ' +
      'approaches are possible, something risky needs a yes, or you have a suggestion. The run stops after this call ' +
      'and goes on with the answer. Ask one thing at a time, and do not ask what you can find out yourself.',
    input: Input,
    run: ({ question }) => Promise.resolve({ content: question, end: true }),
  });
}
