import { z } from 'zod';
import { rpc } from './contract.js';
import { sandboxScope, onBehalfOf, path } from './sandbox.js';

const lookup = { ...sandboxScope, ...onBehalfOf, path };
const lookupRefused = z.object({
  outcome: z.literal('refused'),
  reason: z.enum(['not_found', 'not_directory', 'permission', 'outside']),
});
const foundPaths = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.literal('ok'),
    paths: z.array(z.string()),
    truncated: z.boolean().describe('There are more than requested.'),
    incomplete: z.boolean().describe('Not everything was searched: there was too much.'),
  }),
  lookupRefused,
]);

/**
 * Entries below a directory, sorted, directories with a slash at their end; generated files and folders are omitted.
 */
export const SandboxList = rpc({
  name: 'list',
  request: z.object({
    ...lookup,
    depth: z.number().int().min(1).max(8),
    max_results: z.number().int().min(1).max(2000),
  }),
  reply: foundPaths,
  timeoutMs: 30_000,
});

/** Files below a directory whose path fits a pattern. */
export const SandboxGlob = rpc({
  name: 'glob',
  request: z.object({
    ...lookup,
    pattern: z.string().min(1).max(200),
    include_dirs: z.boolean(),
    max_results: z.number().int().min(1).max(1000),
  }),
  reply: foundPaths,
  timeoutMs: 30_000,
});

/** Lines of text files below a directory that match an expression, or a literal text. */
export const SandboxGrep = rpc({
  name: 'grep',
  request: z.object({
    ...lookup,
    pattern: z.string().min(1).max(1000),
    literal: z.boolean(),
    case_sensitive: z.boolean(),
    glob: z.string().min(1).max(200).optional(),
    max_results: z.number().int().min(1).max(500),
  }),
  reply: z.discriminatedUnion('outcome', [
    z.object({
      outcome: z.literal('ok'),
      matches: z.array(z.object({ path: z.string(), line: z.number().int(), text: z.string() })),
      truncated: z.boolean(),
      incomplete: z.boolean(),
    }),
    lookupRefused,
    z.object({ outcome: z.literal('invalid_pattern'), message: z.string() }),
  ]),
  timeoutMs: 60_000,
});

/** Whether files exist, in the requested order. */
export const SandboxStat = rpc({
  name: 'stat',
  request: z.object({ ...sandboxScope, ...onBehalfOf, paths: z.array(path).min(1).max(100) }),
  reply: z.object({
    files: z.array(
      z.discriminatedUnion('outcome', [
        z.object({ outcome: z.literal('file'), bytes: z.number().int() }),
        z.object({
          outcome: z.literal('refused'),
          reason: z.enum(['not_found', 'is_directory', 'not_regular', 'permission', 'outside']),
        }),
      ]),
    ),
  }),
  timeoutMs: 30_000,
});
