import type { Embedder } from '@caribou/core';
import { callUsage } from '@caribou/core';
import type { Metrics } from '@caribou/observability';
import type { UsageLedger } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../dependency.js';
import type { Ranked } from './lexical-ranking.js';

/** Under what usage shows the calls. */
const AGENT = 'store';

/** Vectors of items and queries, by the configured embedding model. */
@Injectable()
export class ItemVectors {
  constructor(
    @Dependency('embedder') private readonly embedder: Embedder | null,
    @Dependency('metrics') private readonly metrics: Pick<Metrics, 'modelTokens'>,
    @Dependency('usageLedger') private readonly ledger: Pick<UsageLedger, 'add'>,
  ) {}

  get isConfigured(): boolean {
    return this.embedder !== null;
  }

  /** The vector of these texts as it is stored; undefined without a model or a text. @throws {ModelError} */
  async encode(userId: string, texts: readonly string[]): Promise<string | undefined> {
    const text = texts.join('\n').trim();
    if (this.embedder === null || text === '') return undefined;
    return `${this.embedder.id} ${Buffer.from((await this.embed(this.embedder, userId, text)).buffer).toString('base64')}`;
  }

  /** Ranks documents by the likeness of their vectors to the query, the best first; those without a vector of this model are left out. */
  async rank<Document>(
    userId: string,
    query: string,
    documents: readonly { readonly document: Document; readonly vector: string | null }[],
  ): Promise<Ranked<Document>[]> {
    const { embedder } = this;
    if (embedder === null) return [];
    const wanted = await this.embed(embedder, userId, query);
    return documents
      .flatMap(({ document, vector }) => {
        const known = decode(vector, embedder.id);
        return known?.length === wanted.length ? [{ document, score: cosine(known, wanted) }] : [];
      })
      .sort((one, other) => other.score - one.score);
  }

  private async embed(embedder: Embedder, userId: string, text: string): Promise<Float32Array> {
    const { vector, tokens } = await embedder.embed(text);
    this.metrics.modelTokens('input', tokens);
    const usage = { input_tokens: tokens, output_tokens: 0, total_tokens: tokens };
    await this.ledger.add({ userId }, AGENT, [callUsage({ caller: 'middleware', model: embedder.model }, usage)]);
    return vector;
  }
}

function decode(text: string | null, id: string): Float32Array | undefined {
  if (text?.startsWith(`${id} `) !== true) return undefined;
  const bytes = Buffer.from(text.slice(id.length + 1), 'base64');
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

function cosine(one: Float32Array, other: Float32Array): number {
  let [product, first, second] = [0, 0, 0];
  for (let at = 0; at < one.length; at += 1) {
    const [left = 0, right = 0] = [one[at], other[at]];
    product += left * right;
    first += left * left;
    second += right * right;
  }
  return first === 0 || second === 0 ? 0 : product / Math.sqrt(first * second);
}
