import { SkillName } from '@caribou/contracts';

/** Slash commands with another meaning, in clients or in other versions. */
const RESERVED: ReadonlySet<string> = new Set([...['bootstrap', 'goal', 'help', 'memory', 'models', 'new', 'status']]);

/** `/name`, alone or followed by a space and a task, at the very beginning. */
const COMMAND = /^\/(\S{1,64})(?:\s|$)/;

/**
 * The skill that a message requests by name; undefined for other messages. Only valid skill names count: a path or a
 * slash in the middle is ordinary text.
 */
export function parseSkillCommand(words: string): string | undefined {
  const name = COMMAND.exec(words)?.[1];
  return name === undefined || RESERVED.has(name) || !SkillName.safeParse(name).success ? undefined : name;
}
