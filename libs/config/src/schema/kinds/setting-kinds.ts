import { z } from 'zod';

/** A whole number with its default and range. */
export const integer = (fallback: number, min: number, max: number) => z.int().min(min).max(max).default(fallback);

/** A time in milliseconds; at most an hour by default. */
export const ms = (fallback: number, max = 3_600_000) => integer(fallback, 1, max);
