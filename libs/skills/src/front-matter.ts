import { AllowedTools, isRecord, SkillDescription, SkillName } from '@caribou/contracts';
import { splitSkillFile } from '@caribou/core';
import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { SkillRejectedError } from './skill-rejected.js';

/** Largest SKILL.md, in bytes; it must fit into one reply of a sandbox-manager. */
export const MAX_SKILL_FILE_BYTES = 256 * 1024;
const MAX_FRONT_MATTER_CHARS = 32 * 1024;
const MAX_FAULTS = 3;

/** The metadata of a SKILL.md. */
export interface SkillManifest {
  readonly name: string;
  readonly description: string;
  readonly license: string | null;
  readonly allowedTools: readonly string[] | null;
}

const line = (maxChars: number) => z.string().trim().max(maxChars);

/** A list of names, or a text with names separated by commas or spaces. */
const Tools = z.preprocess(
  (value) => (typeof value === 'string' ? value.split(/[\s,]+/).filter((name) => name !== '') : value),
  AllowedTools.default(null),
);

const FrontMatter = z.object({
  name: SkillName,
  description: z.preprocess(joinLines, SkillDescription),
  license: line(512).nullish(),
  version: z.union([line(64), z.number()]).nullish(),
  author: z.unknown().optional(),
  compatibility: line(500).nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  'allowed-tools': Tools,
  'required-secrets': z.unknown().optional(),
  'secrets-autonomous': z.unknown().optional(),
});

const known: ReadonlySet<string> = new Set(Object.keys(FrontMatter.shape));

/**
 * Parses the front matter of a SKILL.md: YAML 1.2 between two lines `---` at the very beginning, without anchors, tags or
 * duplicate keys.
 *
 * @throws {SkillRejectedError} with the line or the key
 */
export function parseSkillFile(text: string): SkillManifest {
  const value = yamlOf(frontMatterOf(text));
  const unknownKeys = Object.keys(value).filter((key) => !known.has(key));
  if (unknownKeys.length > 0) {
    const names = unknownKeys.slice(0, MAX_FAULTS).map((key) => key.slice(0, 64));
    throw new SkillRejectedError(
      `Unexpected key(s) in SKILL.md front matter: ${names.join(', ')}. Allowed: ${[...known].join(', ')}`,
    );
  }
  const parsed = FrontMatter.safeParse(value);
  if (!parsed.success) throw new SkillRejectedError(faultsOf(parsed.error));
  const { name, description, license, 'allowed-tools': allowedTools } = parsed.data;
  return { name, description, license: license ?? null, allowedTools };
}

function frontMatterOf(text: string): string {
  const { frontMatter } = splitSkillFile(text);
  if (frontMatter === undefined)
    throw new SkillRejectedError('SKILL.md must begin with front matter between two lines of "---"');
  if (frontMatter.length > MAX_FRONT_MATTER_CHARS)
    throw new SkillRejectedError(`the front matter of SKILL.md has more than ${MAX_FRONT_MATTER_CHARS} characters`);
  return frontMatter;
}

function yamlOf(yaml: string): Readonly<Record<string, unknown>> {
  const lineCounter = new LineCounter();
  const document = parseDocument(yaml, { schema: 'core', lineCounter, prettyErrors: false });
  const [fault] = [...document.errors, ...document.warnings];
  if (fault !== undefined) {
    // The first line of the file is a line of dashes.
    const at = lineCounter.linePos(fault.pos[0]).line + 1;
    throw new SkillRejectedError(`the front matter of SKILL.md is not valid YAML (line ${at}, ${fault.code})`);
  }
  const value = plainValue(document);
  if (!isRecord(value)) throw new SkillRejectedError('the front matter of SKILL.md must hold keys and values');
  return value;
}

function plainValue(document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    throw new SkillRejectedError('the front matter of SKILL.md must not use anchors', { cause: error });
  }
}

function joinLines(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/\s+/g, ' ') : value;
}

/** Describes the faults without values, which are untrusted. */
function faultsOf(error: z.ZodError): string {
  const faults = error.issues
    .slice(0, MAX_FAULTS)
    .map(({ path, message }) => `${path.map(String).join('.').slice(0, 100)}: ${message}`);
  return `SKILL.md front matter: ${faults.join('; ')}`;
}
