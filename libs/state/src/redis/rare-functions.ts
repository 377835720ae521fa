/** A function at the start of a line, which ends in that line or with the next line that is not indented, `end`; maybe marked as rare. */
const definition = /^(-- @rare\n)?local function (\w+)(?:.*\bend *(?:--.*)?\n|.*\n(?:(?: .*)?\n)*end\n)/gm;
/** The same as a field of a table. */
const method = /^function [\w.]+\(.*\n(?:(?: .*)?\n)*end\n/gm;

interface Definition {
  readonly name: string;
  /** Without its mark. */
  readonly text: string;
  readonly isRare: boolean;
  readonly from: number;
  readonly to: number;
  /** Names of other such functions that it refers to. */
  readonly uses: ReadonlySet<string>;
}

const withoutComments = (text: string): string => text.replace(/--\[\[[^]*?\]\]|--.*$/gm, '');

const namesIn = (text: string): ReadonlySet<string> => new Set(withoutComments(text).match(/\b[a-z_]\w*\b/gi) ?? []);

/**
 * A Lua script that makes its rare functions, which follow a line `-- @rare`, and those that only these use when the first of them is called:
 * making and collecting a function takes Redis about half a microsecond, and a script on a thread has a hundred. They become fields of a table
 * that a function `rare` returns. It is defined before the first statement that may call one of them; those that are defined after it stay.
 *
 * @throws {Error} when a function would refer to another variable there
 */
export function withRareFunctions(source: string): string {
  const functions = definitionsIn(source);
  const first = functions[0];
  if (first === undefined || !functions.some(({ isRare }) => isRare)) return source;
  const rare = rareOnes(source, functions);
  const end = firstCall(source, functions, rare);
  const moved = functions.filter(({ name, to }) => rare.has(name) && to <= end);
  for (const one of moved) assertSameVariables(one, source.slice(one.to, end), source);
  if (moved.length === 0) return source;
  const kept = functions.filter((one) => one.to <= end && !moved.includes(one));
  const before = calling(moved, withoutRanges(source, end, moved));
  const start = kept[0] === undefined ? before.length : before.indexOf(`local function ${kept[0].name}`);
  return `${before.slice(0, start)}local rare\n${before.slice(start)}${group(moved)}${calling(moved, source.slice(end))}`;
}

function definitionsIn(source: string): readonly Definition[] {
  const found = [...source.matchAll(definition)];
  const names = new Set(found.map(([, , name = '']) => name));
  return found.map(({ 0: whole, 1: mark = '', 2: name = '', index }) => {
    const text = whole.slice(mark.length);
    const uses = new Set([...namesIn(text)].filter((used) => used !== name && names.has(used)));
    return { name, text, isRare: mark !== '', from: index, to: index + whole.length, uses };
  });
}

/** The text up to a position without some of its functions. */
function withoutRanges(source: string, end: number, removed: readonly Definition[]): string {
  const head = source.slice(0, end);
  return removed.reduceRight((text, { from, to }) => text.slice(0, from) + text.slice(to), head);
}

/** Names of the functions that are marked as rare, or that only such ones use. */
function rareOnes(source: string, functions: readonly Definition[]): ReadonlySet<string> {
  const byName = new Map(functions.map((one) => [one.name, one]));
  const common = new Set<string>();
  const visit = (name: string): void => {
    const found = byName.get(name);
    if (found === undefined || found.isRare || common.has(name)) return;
    common.add(name);
    found.uses.forEach(visit);
  };
  namesIn(withoutRanges(source, source.length, functions)).forEach(visit);
  return new Set([...byName.keys()].filter((name) => !common.has(name)));
}

/** Where the first statement begins that refers to a rare function, or to one that may call a rare one. */
function firstCall(source: string, functions: readonly Definition[], rare: ReadonlySet<string>): number {
  const reaching = new Set(rare);
  for (let size = 0; size !== reaching.size; ) {
    size = reaching.size;
    for (const { name, uses } of functions) if ([...uses].some((used) => reaching.has(used))) reaching.add(name);
  }
  // As long as before, so that positions remain.
  const blank = (text: string): string => text.replace(/[^\n]/g, ' ');
  const statements = source
    .replace(/--\[\[[^]*?\]\]/g, blank)
    .replace(definition, blank)
    .replace(method, blank)
    .replace(/--.*$/gm, blank);
  let begin = 0;
  for (const { 0: line, index } of statements.matchAll(/^.*\S.*$/gm)) {
    if (/^(?!end\b|else|\)|\})\S/.test(line)) begin = index;
    if ([...namesIn(line)].some((name) => reaching.has(name))) return begin;
  }
  return source.length;
}

/** A variable that is defined in the text after it must not take the place of one that the function refers to. */
function assertSameVariables(one: Definition, after: string, source: string): void {
  const before = new Set(variablesIn(source.slice(0, one.from)));
  const used = namesIn(one.text);
  const taken = variablesIn(after).find((name) => before.has(name) && used.has(name));
  if (taken !== undefined) throw new Error(`the rare function ${one.name} would refer to another variable "${taken}"`);
}

/** The variables that are defined at the start of a line. */
const variablesIn = (source: string): readonly string[] =>
  [...withoutComments(source).matchAll(/^local (?!function)([\w, ]+)/gm)].flatMap(([, names = '']) =>
    names.trim().split(/,\s*/),
  );

/** A text that calls functions through `rare`. */
function calling(moved: readonly Definition[], text: string): string {
  const names = moved.map(({ name }) => name).join('|');
  return text.replace(new RegExp(`(?<![.:\\w'"])(${names})\\b(?! =|['"])`, 'g'), 'rare().$1');
}

function group(moved: readonly Definition[]): string {
  const inside = moved.map(({ text }) => text.replace(/^(?=.)/gm, '  ')).join('');
  const fields = moved.map(({ name }) => `${name} = ${name}`).join(', ');
  return `local rare_functions
local function make_rare()
${inside}  rare_functions = { ${fields} }
  return rare_functions
end
function rare() return rare_functions or make_rare() end
`;
}
