import { request } from 'node:http';

/** What one streamed request looked like from outside; times in milliseconds. */
export interface StreamTimes {
  readonly firstTokenMs: number;
  readonly totalMs: number;
  /** Delay of each stamped token between the model server's write and this reader. */
  readonly tokenDelaysMs: readonly number[];
}

const now = (): number => performance.timeOrigin + performance.now();

/** Posts a body and reads the SSE answer to its end; `messages` frames hold `[chunk, metadata]`. */
export function streamOnce(url: string, body: unknown): Promise<StreamTimes> {
  const startedMs = now();
  let firstTokenMs = 0;
  const tokenDelaysMs: number[] = [];
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers: { 'content-type': 'application/json' }, timeout: 120_000 }, (response) => {
      if (response.statusCode !== 200) {
        response.resume();
        reject(new Error(`${url} answered ${response.statusCode}`));
        return;
      }
      let rest = '';
      let isMessage = false;
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          if (line.startsWith('event: ')) isMessage = line === 'event: messages';
          else if (isMessage && line.startsWith('data: ')) {
            if (firstTokenMs === 0) firstTokenMs = now() - startedMs;
            for (const stamp of line.match(/\d{13}\.\d{3}/g) ?? []) tokenDelaysMs.push(now() - Number(stamp));
          }
        }
      });
      response.on('end', () => resolve({ firstTokenMs, totalMs: now() - startedMs, tokenDelaysMs }));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

/** The q-quantile (0..1) of a list, 0 for an empty one. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}

/** Runs `total` jobs, at most `concurrency` at once. */
export async function inParallel<Result>(total: number, concurrency: number, job: (index: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < total) {
      const index = next;
      next += 1;
      results[index] = await job(index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, total) }, lane));
  return results;
}
