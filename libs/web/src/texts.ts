const MAX_TITLE_CHARS = 500;
const MAX_SNIPPET_CHARS = 2_000;

/** The first `maxChars` characters; never splits a surrogate pair. */
export function firstChars(text: string, maxChars: number): string {
  const cut = text.slice(0, maxChars);
  return text.length > maxChars && /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut;
}

const oneLine = (text: string | null | undefined): string => (text ?? '').replace(/\s+/g, ' ').trim();

export const titleText = (text: string | null | undefined): string => firstChars(oneLine(text), MAX_TITLE_CHARS);
export const snippetText = (text: string | null | undefined): string => firstChars(oneLine(text), MAX_SNIPPET_CHARS);

/** Whether the URL is one of a page, as clients show results as links. */
export const isPageUrl = (url: string | null | undefined): url is string =>
  typeof url === 'string' && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);

/** A result for the model as readable JSON. */
export const asJson = (value: unknown): string => JSON.stringify(value, null, 2);

/** A page in the format of DeerFlow's tools: its title as a heading, then the text. */
export const withTitle = (title: string, text: string): string => `# ${title}\n\n${text}`;
