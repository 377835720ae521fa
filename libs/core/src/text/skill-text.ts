const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n(?:([^]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/;

/** Splits a SKILL.md into the YAML between two `---` lines at its beginning (undefined without them) and the rest. */
export function splitSkillFile(text: string): { readonly frontMatter: string | undefined; readonly body: string } {
  const found = FRONT_MATTER.exec(text);
  if (found === null) return { frontMatter: undefined, body: text.trim() };
  return { frontMatter: found[1] ?? '', body: text.slice(found[0].length).trim() };
}
