import { Parser } from 'htmlparser2';
import type { Found } from './search-answers.js';

const MAX_RESULTS = 100;

interface Entry {
  href: string;
  title: string;
  text: string;
}

/** The results of DuckDuckGo's page for browsers without scripts, or its bot check instead. */
export interface ResultPage {
  readonly results: readonly Found[];
  readonly isChallenge: boolean;
}

/** Parses the page as a stream: links of class result__a, each followed by its result__snippet. */
export function readResultPage(html: string): ResultPage {
  const entries: Entry[] = [];
  let isChallenge = false;
  let reading: { readonly field: 'title' | 'text'; readonly tag: string } | undefined;
  const parser = new Parser({
    onopentag: (tag, { class: classes = '', href = '' }) => {
      const names = classes.split(/\s+/);
      if (names.some((name) => name.startsWith('anomaly-modal'))) isChallenge = true;
      if (names.includes('result__a') && entries.length < MAX_RESULTS) {
        entries.push({ href, title: '', text: '' });
        reading = { field: 'title', tag };
      } else if (names.includes('result__snippet')) reading = { field: 'text', tag };
    },
    ontext: (text) => {
      const entry = entries.at(-1);
      if (reading !== undefined && entry !== undefined) entry[reading.field] += text;
    },
    onclosetag: (tag) => {
      if (tag === reading?.tag) reading = undefined;
    },
  });
  parser.end(html);
  return { results: entries.flatMap(asFound), isChallenge };
}

/**
 * Resolves DuckDuckGo's redirect links, which contain the page's URL; advertisements have another form and are omitted.
 */
function asFound({ href, title, text }: Entry): readonly Found[] {
  if (!URL.canParse(href, 'https://duckduckgo.com')) return [];
  const url = new URL(href, 'https://duckduckgo.com');
  const isOwn = /(^|\.)duckduckgo\.com$/.test(url.hostname);
  if (!isOwn) return [{ url: url.href, title, text }];
  const page = url.pathname === '/l/' ? url.searchParams.get('uddg') : null;
  return page === null ? [] : [{ url: page, title, text }];
}
