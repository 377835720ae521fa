import { z } from 'zod';

/**
 * Rules for shell commands, as data. They serve the audit and are a second line of defence: the sandbox is the
 * boundary. Keys are spelled as in the configuration and the audit.
 */

/**
 * `block` is not executed, `ask` is executed once a person has approved it, `warn` is executed with a warning, `pass` is only
 * recorded.
 */
export const CommandVerdict = z.enum(['pass', 'warn', 'ask', 'block']);
export type CommandVerdict = z.infer<typeof CommandVerdict>;

export const RuleId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be 1 to 64 lower case letters, digits or "-", starting with no "-"');

/** Patterns in which `*` matches any characters; one of them must match. */
const patterns = z.array(z.string().min(1).max(200)).min(1).max(100);

const conditions = {
  commands: patterns.optional().describe('Name of the command, without its directory'),
  except: patterns.optional().describe('Names that the rule does not apply to'),
  subcommand: patterns.optional().describe('First argument that is no option'),
  flags: z
    .array(z.string().regex(/^[A-Za-z0-9][\w-]*$/, 'must be a letter, or the name of a long option'))
    .min(1)
    .max(100)
    .optional()
    .describe('One of the options: a letter alone or in a cluster, or a long name'),
  arguments: patterns.optional().describe('An argument'),
  files: patterns.optional().describe('An argument, or a file that is redirected to or from'),
  writes: patterns.optional().describe('A file that output is redirected to'),
  assigns: patterns.optional().describe('Name of a variable that is set'),
  command_from: patterns.optional().describe('The command itself is the output of a command of this name'),
  argument_from: patterns.optional().describe('An argument holds the output of a command of this name'),
  input_from: patterns.optional().describe('Its here-string or process substitution is the output of such a command'),
  piped_from: z.literal(true).optional().describe('It reads from a pipe'),
  piped_into: z.literal(true).optional().describe('It writes into a pipe'),
  fork_bomb: z.literal(true).optional().describe('It starts itself, or is started, without end'),
};

/** What a rule matches: all given conditions must hold for one command, wherever it is in the text. */
export const CommandMatch = z
  .strictObject(conditions)
  .refine((match) => Object.keys(match).some((key) => key !== 'except'), 'must have at least one condition');
export type CommandMatch = z.infer<typeof CommandMatch>;

export const CommandRule = z.strictObject({
  id: RuleId,
  verdict: CommandVerdict,
  match: CommandMatch,
  message: z.string().min(1).max(200).describe('Why, as the model reads it'),
});
export type CommandRule = z.infer<typeof CommandRule>;

/** What the rules say of a command; `rules` are the ids of those that matched. */
export const CommandAudit = z.object({ verdict: CommandVerdict, rules: z.array(z.string().max(64)).max(200) });
export type CommandAudit = z.infer<typeof CommandAudit>;
