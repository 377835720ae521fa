import { request } from 'node:http';

/** Measurements of one streamed answer by its client; times in milliseconds. */
export interface StreamTimes {
  readonly firstTokenMs: number;
  readonly totalMs: number;
  /** Tokens of `#tokens` and `#stamps` seen in `messages` frames. */
  readonly tokens: number;
  /** For `#stamps`: from the moment the model sent a token to the moment it was read here. */
  readonly tokenDelaysMs: readonly number[];
  readonly bytes: number;
  /** Whether an `end` frame came; LangGraph's own server sends none. */
  readonly ended: boolean;
  /** `Content-Location` of the answer. */
  readonly location: string;
}

export interface StreamRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const TIMEOUT_MS = 120_000;
const STAMP = /\b\d{13}\.\d+/g;
const TOKEN = /\bt\d+\b/g;

const nowMs = (): number => performance.timeOrigin + performance.now();

/** Sends a request and reads its SSE answer to the end. @throws Error unless it is 200 and holds no `error` frame */
export function readStream({ method, url, body, headers: more = {} }: StreamRequest): Promise<StreamTimes> {
  const startedMs = nowMs();
  return new Promise((resolve, reject) => {
    const headers = { ...more, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const sent = request(url, { method, headers, timeout: TIMEOUT_MS }, (response) => {
      if (response.statusCode !== 200) {
        response.resume();
        reject(new Error(`${url} answered ${response.statusCode}`));
        return;
      }
      const reading = new Reading(startedMs);
      response.setEncoding('utf8');
      response.on('data', (text: string) => reading.take(text));
      response.on('error', reject);
      response.on('end', () => {
        try {
          resolve(reading.toTimes(response.headers['content-location'] ?? ''));
        } catch (error) {
          reject(error);
        }
      });
    });
    sent.on('timeout', () => sent.destroy(new Error(`${url} was silent for ${TIMEOUT_MS} ms`)));
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

class Reading {
  private rest = '';
  private event = '';
  private ended = false;
  private failure = '';
  private firstTokenMs = 0;
  private tokens = 0;
  private bytes = 0;
  private readonly delaysMs: number[] = [];

  constructor(private readonly startedMs: number) {}

  take(text: string): void {
    this.bytes += text.length;
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) this.takeLine(line);
  }

  private takeLine(line: string): void {
    if (line.startsWith('event: ')) {
      this.event = line.slice(7);
      this.ended ||= this.event === 'end';
    } else if (line.startsWith('data: ')) {
      if (this.event === 'error') this.failure = line;
      else if (this.event === 'messages') this.takeTokens(line);
    }
  }

  private takeTokens(line: string): void {
    if (this.firstTokenMs === 0) this.firstTokenMs = nowMs() - this.startedMs;
    const stamps = line.match(STAMP) ?? [];
    for (const stamp of stamps) this.delaysMs.push(nowMs() - Number(stamp));
    this.tokens += stamps.length + (line.match(TOKEN)?.length ?? 0);
  }

  toTimes(location: string): StreamTimes {
    if (this.failure !== '') throw new Error(`a stream failed: ${this.failure}`);
    const { firstTokenMs, tokens, bytes, ended, delaysMs: tokenDelaysMs, startedMs } = this;
    return { firstTokenMs, totalMs: nowMs() - startedMs, tokens, tokenDelaysMs, bytes, ended, location };
  }
}
