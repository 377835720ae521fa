/** A document to rank: its words are those of its texts. */
export interface Ranked<Document> {
  readonly document: Document;
  readonly score: number;
}

/** Weights of BM25: how much repetitions of a word count, and how much the length of the text. */
const K1 = 1.2;
const B = 0.75;

const wordsOf = (text: string): string[] =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? [];

/** Ranks documents by the words that they share with the query (Okapi BM25), the best first; those without any are left out. */
export function rankByWords<Document>(
  documents: readonly Document[],
  query: string,
  textsOf: (document: Document) => readonly string[],
): Ranked<Document>[] {
  const wanted = [...new Set(wordsOf(query))];
  const counted = documents.map((document) => countWords(document, textsOf(document).flatMap(wordsOf), wanted));
  const averageLength = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(1, counted.length);
  const rarity = new Map(wanted.map((word) => [word, rarityOf(counted, word)]));
  return counted
    .map(({ document, length, counts }) => {
      const norm = K1 * (1 - B + (B * length) / Math.max(1, averageLength));
      const score = [...counts].reduce(
        (sum, [word, count]) => sum + ((rarity.get(word) ?? 0) * (count * (K1 + 1))) / (count + norm),
        0,
      );
      return { document, score };
    })
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score);
}

interface Counted<Document> {
  readonly document: Document;
  readonly length: number;
  /** How often it has each of the wanted words that it has. */
  readonly counts: ReadonlyMap<string, number>;
}

function countWords<Document>(
  document: Document,
  words: readonly string[],
  wanted: readonly string[],
): Counted<Document> {
  const counts = new Map<string, number>();
  const known = new Set(wanted);
  for (const word of words) if (known.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return { document, length: words.length, counts };
}

function rarityOf(counted: readonly Counted<unknown>[], word: string): number {
  const having = counted.filter(({ counts }) => counts.has(word)).length;
  return Math.log(1 + (counted.length - having + 0.5) / (having + 0.5));
}
