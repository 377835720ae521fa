import { AppError, type HumanMessage, textOf, type ThreadState } from '@caribou/contracts';
import {
  activeSkill,
  type AgentMiddleware,
  defuseFrameworkTags,
  isUserMessage,
  type RunContext,
  type SandboxPort,
  type Skill,
  splitSkillFile,
  type Step,
  userText,
} from '@caribou/core';
import { createHiddenMessage } from '../messages/hidden-message.js';
import { parseSkillCommand } from './skill-command.js';

const NAME = 'skill-activation';
/** Same limit as `read_file`, which can read the rest. */
const MAX_CHARS = 50_000;
const MAX_BYTES = 4 * MAX_CHARS;

export interface SkillActivationOptions {
  /** Skills of the user, including disabled ones. */
  readonly skills: readonly Skill[];
}

type Reader = Pick<SandboxPort, 'read'>;

/**
 * Handles `/skill-name task` at the beginning of the user's message: adds the skill's text to the thread as a hidden
 * message, and restricts this run to the tools that the skill allows. An unknown name is left to the model; if the
 * skill is disabled or cannot be read, the hidden message says so.
 */
export function skillActivation({ skills }: SkillActivationOptions, sandbox: Reader): AgentMiddleware {
  const activate = async (state: ThreadState, run: RunContext, noteId: string): Promise<Step | undefined> => {
    const skill = findRequestedSkill(state, skills);
    if (skill === undefined) return undefined;
    const text = skill.enabled ? await readText(skill, { sandbox, run }) : undefined;
    run.recordDecision(NAME, text === undefined ? 'unavailable' : 'activated');
    if (text === undefined) return { update: { messages: [note(noteId, unavailable(skill))] } };
    const active = { name: skill.name, allowed_tools: skill.allowedTools === null ? null : [...skill.allowedTools] };
    return { update: { messages: [note(noteId, instructions(skill, text))], ...activeSkill.write(active, run) } };
  };
  return {
    name: NAME,
    beforeAgent: (state, run) => activate(state, run, `${NAME}:${run.runId}`),
    onJoined: (state, run) => activate(state, run, `${NAME}:${run.runId}:${state.messages.at(-1)?.id ?? ''}`),
  };
}

/** The skill that the last message begins with. */
function findRequestedSkill({ messages }: ThreadState, skills: readonly Skill[]): Skill | undefined {
  const last = messages.at(-1);
  const name = last === undefined || !isUserMessage(last) ? undefined : parseSkillCommand(userText(last));
  return skills.find((skill) => skill.name === name);
}

/** The id is unique per run, or per message that joined it, so that a restarted run adds no second note. */
const note = (id: string, text: string): HumanMessage => ({ ...createHiddenMessage(NAME, text), id });

/** The skill's SKILL.md without its front matter; undefined when it cannot be read. */
async function readText(
  { location }: Skill,
  { sandbox, run }: { readonly sandbox: Reader; readonly run: RunContext },
): Promise<string | undefined> {
  const scope = { userId: run.userId, threadId: run.threadId, epoch: run.epoch };
  try {
    const read = await sandbox.read(scope, { path: location, max_bytes: MAX_BYTES }, run.signal);
    if (read.outcome === 'refused') return undefined;
    const { body } = splitSkillFile(read.text);
    const isCut = read.truncated || body.length > MAX_CHARS;
    return isCut ? `${body.slice(0, MAX_CHARS)}\n[cut: read the rest of ${location} with read_file]` : body;
  } catch (error) {
    run.signal.throwIfAborted();
    if (!(error instanceof AppError) || error.code === 'fenced') throw error;
    run.logger.warn({ error, path: location }, 'a requested skill could not be read');
    return undefined;
  }
}

/** The skill's text is to be followed, but must not imitate other parts of the prompt. */
function instructions({ name, location, allowedTools }: Skill, text: string): string {
  const folder = location.slice(0, location.lastIndexOf('/'));
  return [
    '<skill_content>',
    `The person's message begins with /${name}: it asks you to follow this skill for what that message says.`,
    `What the skill refers to lies below ${folder}; read it with \`read_file\` when you get there.`,
    ...(allowedTools === null ? [] : [`With it you may use these tools only: ${allowedTools.join(', ') || 'none'}.`]),
    '',
    textOf(defuseFrameworkTags(text)),
    '</skill_content>',
  ].join('\n');
}

const unavailable = ({ name, enabled }: Skill): string =>
  [
    '<system_reminder>',
    `The person's message begins with /${name}, the name of a skill that ${enabled ? 'cannot be read now' : 'is switched off'}. ` +
      'Say so, and do what you can without it.',
    '</system_reminder>',
  ].join('\n');
