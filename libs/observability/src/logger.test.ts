import { ModelError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import { createLogger } from './index.js';

function recording(level: 'debug' | 'info' = 'info'): { logger: Logger; lines: () => Record<string, unknown>[] } {
  const written: string[] = [];
  const logger: Logger = createLogger({
    service: 'gateway',
    level,
    destination: { write: (line) => void written.push(line) },
  });
  return { logger, lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe('createLogger', () => {
  test('writes one JSON line with ISO time, level by name, service, message and fields', () => {
    const { logger, lines } = recording();
    logger.child({ runId: 'r1' }).info({ event: 'run.end', outcome: 'ok', durationMs: 12 }, 'run ended');
    logger.debug({ event: 'x' }, 'below the level');
    expect(lines()).toEqual([
      {
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        level: 'info',
        service: 'gateway',
        msg: 'run ended',
        runId: 'r1',
        event: 'run.end',
        outcome: 'ok',
        durationMs: 12,
      },
    ]);
  });

  test('drops fields outside the closed list and logs only their names', () => {
    const { logger, lines } = recording();
    // The compiler refuses them where they are written out.
    const ids: object = { apiKey: 'secret-1' };
    const fields: object = { content: 'secret-2', threadId: 't' };
    logger.child(ids).warn(fields, 'm');
    expect(JSON.stringify(lines())).not.toContain('secret-');
    expect(lines()[0]).toMatchObject({ threadId: 't', dropped: ['content'] });
  });

  test('hides secrets in errors: in the message, the details and the cause', () => {
    const { logger, lines } = recording();
    const cause = new Error('redis://:secret-pass@host:6379 refused Bearer secret-bearer');
    const error = new ModelError('key sk-secret12345 refused', {
      details: { authorization: 'secret-1', nested: { api_key: 'secret-2', max_tokens: 5 } },
      cause,
    });
    logger.error({ error }, 'm');
    expect(JSON.stringify(lines())).not.toContain('secret');
    expect(lines()[0]).toMatchObject({ error: { code: 'model_failed', details: { nested: { max_tokens: 5 } } } });
  });

  test('logs the stack of unexpected errors only', () => {
    const { logger, lines } = recording();
    logger.error({ error: new ModelError('expected') }, 'm');
    logger.error({ error: new TypeError('a defect') }, 'm');
    expect(lines()[0]?.['error']).not.toHaveProperty('stack');
    expect(lines()[1]).toMatchObject({ error: { name: 'TypeError', stack: expect.stringContaining('logger.test') } });
  });

  test('logs what JSON cannot hold: cycles, big integers, thrown strings, and what fails to describe itself', () => {
    const { logger, lines } = recording();
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    const toJSON = (): never => {
      throw new TypeError('no JSON');
    };
    logger.error({ error: 'thrown text', reason: cycle, bytes: 5n, problems: { toJSON, count: 1 } }, 'm');
    expect(lines()[0]).toMatchObject({ error: 'thrown text', bytes: '5', problems: { count: 1 } });
  });
});
