import { CONTEXT_SECTIONS, type ContextSection } from './context-sections.js';

type Texts = Readonly<Record<string, string>>;

const FIRST = [
  'The server adds this message; the person neither wrote it nor sees it. It holds for the whole conversation, as far as',
  'no later message like this one changes it.',
].join('\n');
const CHANGED =
  'The server adds this message; the person neither wrote it nor sees it. Since the last one like it has changed:';

/** The message in front of a thread's first message. */
export const formatContext = (texts: Texts): string =>
  inTag(
    'dynamic_context',
    [FIRST, ...CONTEXT_SECTIONS.flatMap((section) => formatSection(section, texts[section.tag] ?? ''))].join('\n\n'),
  );

/** The note of what has changed between two states of the sections; undefined when nothing has. */
export function formatChanges(before: Texts, after: Texts): string | undefined {
  const changes = CONTEXT_SECTIONS.flatMap((section) =>
    formatChange(section, before[section.tag] ?? '', after[section.tag] ?? ''),
  );
  return changes.length === 0 ? undefined : inTag('dynamic_context', [CHANGED, ...changes].join('\n\n'));
}

/** Whether the person has erased a text about them that the model was shown. */
export const isErased = (before: Texts, after: Texts): boolean =>
  CONTEXT_SECTIONS.some(
    (section: ContextSection) =>
      section.personal === true && (before[section.tag] ?? '') !== '' && (after[section.tag] ?? '') === '',
  );

const inTag = (tag: string, text: string): string => `<${tag}>\n${text}\n</${tag}>`;

const formatSection = ({ tag, intro }: ContextSection, text: string): readonly string[] =>
  text === '' ? [] : [inTag(tag, intro === '' ? text : `${intro}\n\n${text}`)];

function formatChange(section: ContextSection, before: string, after: string): readonly string[] {
  if (before === after) return [];
  if (before === '') return formatSection(section, after);
  if (after === '') return [inTag(section.tag, 'None any more.')];
  if (section.whole === true) return formatSection(section, after);
  const lines = changedLines(before, after);
  if (lines === '') return [];
  return lines.length < after.length ? [inTag(section.tag, lines)] : formatSection(section, after);
}

/** The lines that came and went; '' when only their order has changed. */
function changedLines(before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const without = (lines: readonly string[], others: readonly string[]): readonly string[] => {
    const known = new Set(others);
    return lines.filter((line) => line !== '' && !known.has(line));
  };
  const blocks = [
    { head: 'Not in it any more:', lines: without(old, now) },
    { head: 'New in it:', lines: without(now, old) },
  ];
  return blocks.flatMap(({ head, lines }) => (lines.length === 0 ? [] : [[head, ...lines].join('\n')])).join('\n\n');
}
