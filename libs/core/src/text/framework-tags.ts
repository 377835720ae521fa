import type { Content } from '@caribou/contracts';

/**
 * Tags that structure the input of a model: sections of the prompt, blocks and reminders of middlewares. Untrusted text
 * must not open or close one. Names are written with `_`; `-` or no separator are equivalent.
 */
const FRAMEWORK_TAGS: readonly string[] = [
  // Sections of the system prompt
  ...[
    'role',
    'soul',
    'agent_bootstrap',
    'user_profile',
    'memory',
    'thinking_style',
    'clarification_system',
    'todo_list_system',
    'skill_system',
  ],
  ...['available_skills', 'skill', 'subagent_system', 'available_deferred_tools', 'working_directory'],
  ...['response_style', 'citations', 'critical_reminders', 'current_date'],
  // Blocks and reminders of middlewares and tools
  ...['user_input', 'uploaded_files', 'current_uploads', 'system_reminder', 'todo_reminder', 'todo_list', 'todos'],
  ...['conversation_summary', 'existing_summary', 'new_messages', 'durable_context_data', 'delegation_ledger'],
  ...['active_skills', 'skill_content', 'user_memory', 'memory_context', 'dynamic_context', 'viewed_images'],
  'goal_continuation',
  ...['subagent_result', 'task_result', 'tool_result', 'functions', 'function_calls'],
  // Names that a model may take for another speaker
  ...['system', 'system_prompt', 'system_message', 'developer', 'assistant'],
];

const names = new Set(FRAMEWORK_TAGS.map((tag) => tag.replaceAll('_', '')));
const longestName = Math.max(...[...names].map((name) => name.length));

/** Escapes text so that it can neither open nor close a tag. */
export const escapeMarkup = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** `<` and similar characters. */
const openers = /[<\u02c2\u1438\u2039\u2329\u276c\u276e\u27e8\u29fc\u3008\ufe64\uff1c]/g;
/** Characters that are allowed between `<` and the name. */
const beforeName = /[\s/\\|\u2044\u2215\u29f8\uff0f\uff5c]/;
const bar = /[|\uff5c]/;
const insideName = /[-\p{Pd}\p{Pc}\u2212]/u;
/** Invisible characters, and marks that only decorate the preceding letter. */
const unseen = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{M}\u0000-\u0008\u000e-\u001f\u007f-\u009f]/u;

/** Letters of other scripts that look like Latin ones. */
const lookAlikes = new Map(
  [
    'aаα',
    'bв',
    'cс',
    'dԁ',
    'eеε',
    'gɡ',
    'hһ',
    'iіιı',
    'jј',
    'kкκ',
    'lӏ',
    'mм',
    'nпη',
    'oоοσ',
    'pрρ',
    'qԛ',
    'sѕ',
    'tтτ',
    'uυ',
  ]
    .concat(['vν', 'wѡω', 'xхχ', 'yуγ'])
    .flatMap(([latin = '', ...others]) => others.map((other): [string, string] => [other, latin])),
);

/**
 * Defuses each framework tag in the content: its `<` becomes `&lt;`, whatever the case, attributes, spaces, invisible
 * characters or look-alikes, even when the tag is spread over text blocks, which are joined before they reach a model.
 * Special tokens of chat templates (`<|im_start|>`) are defused too. Everything else is unchanged; content without such
 * a tag is returned as the same object.
 */
export function defuseFrameworkTags(content: string): string;
export function defuseFrameworkTags(content: Content): Content;
export function defuseFrameworkTags(content: Content): Content {
  if (typeof content === 'string') return defuseEach([content])[0] ?? content;
  const texts = content.map(textIn);
  const defused = defuseEach(texts);
  if (defused.every((text, at) => text === texts[at])) return content;
  return content.map((part, at) => {
    const text = defused[at] ?? '';
    if (text === texts[at]) return part;
    return typeof part === 'string' ? text : { ...part, text };
  });
}

type Part = Exclude<Content, string>[number];

function textIn(part: Part): string {
  if (typeof part === 'string') return part;
  return typeof part['text'] === 'string' ? part['text'] : '';
}

function defuseEach(texts: readonly string[]): readonly string[] {
  const joined = texts.join('');
  let offset = 0;
  return texts.map((text) => {
    const from = offset;
    offset += text.length;
    return text.replace(openers, (opener, at: number) => (opensTag(joined, from + at + 1) ? '&lt;' : opener));
  });
}

/** Whether a `<` right before `from` opens or closes a framework tag. Reads at most the name and one more letter. */
function opensTag(text: string, from: number): boolean {
  let name = '';
  let barred = false;
  for (let at = from; at < text.length && name.length <= longestName; ) {
    const char = String.fromCodePoint(text.codePointAt(at) ?? 0);
    at += char.length;
    const skipped = name === '' ? beforeName.test(char) : insideName.test(char);
    barred = skipped ? bar.test(char) : barred;
    if (skipped || unseen.test(char)) continue;
    const letters = latinLetters(char);
    if (letters === '') break;
    if (barred) return true;
    name += letters;
  }
  return names.has(name);
}

/** The Latin letters or digits that a character is or resembles, in lower case; '' for other characters. */
function latinLetters(char: string): string {
  if (char <= '\u007f') return /[a-z0-9]/i.test(char) ? char.toLowerCase() : '';
  const plain = char.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const latin = Array.from(plain, (letter) => lookAlikes.get(letter) ?? letter).join('');
  return /^[a-z0-9]+$/.test(latin) ? latin : '';
}
