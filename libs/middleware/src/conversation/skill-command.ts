import { SkillName } from '@caribou/contracts';

/** Words after a slash that mean something else, in interfaces or in other versions. */
const RESERVED: ReadonlySet<string> = new Set([...['bootstrap', 'goal', 'help', 'memory', 'models', 'new', 'status']]);

/** `/name`, alone or with a task behind a space, at the very beginning. */
const COMMAND = /^\/(\S{1,64})(?:\s|$)/;

/**
 * The skill that a message asks for by name; undefined for any other message. Only what could be a skill's name counts:
 * a path or a slash in the middle is a person's words.
 */
export function skillAskedFor(words: string): string | undefined {
  const name = COMMAND.exec(words)?.[1];
  return name === undefined || RESERVED.has(name) || !SkillName.safeParse(name).success ? undefined : name;
}
