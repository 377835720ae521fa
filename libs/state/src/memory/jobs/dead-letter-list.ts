import type { DeadLetter } from '../../ports/run-store.js';
import { z } from 'zod';
import type { RedisConnection } from '../../redis/connection.js';

/** Maximum number of dead letters that wait to be copied to the bus; above it the oldest is removed. */
export const MAX_DEAD_LETTERS = 1_000;

const Stored = z.object({ id: z.string(), entry: z.record(z.string(), z.unknown()) });

export const serializeLetter = ({ id, entry }: DeadLetter): string => JSON.stringify({ id, entry });

/** Lists dead letters that are not on the bus yet, oldest first. */
export async function listDeadLetters(redis: RedisConnection, limit: number): Promise<readonly DeadLetter[]> {
  const texts = await redis.use((client) => client.lrange(redis.keys.deadLetters, 0, limit - 1));
  return texts.map((text) => Stored.parse(JSON.parse(text)));
}

/** Removes a letter that is on the bus now. */
export async function removeDeadLetter(redis: RedisConnection, letter: DeadLetter): Promise<void> {
  await redis.use((client) => client.lrem(redis.keys.deadLetters, 1, serializeLetter(letter)));
}
