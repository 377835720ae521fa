import { Injectable } from '@nestjs/common';
import {
  type AuditEntryReply,
  type AuditReply,
  type auditRoutes,
  InvalidRequestError,
  isRecord,
  omitUndefined,
  type RouteInput,
} from '@caribou/contracts';
import type { AuditEntry, AuditTrail } from '@caribou/state';
import { Dependency } from '../dependency.js';

type Query = RouteInput<typeof auditRoutes.list>['query'];
type ExportQuery = RouteInput<typeof auditRoutes.exportLines>['query'];
type Filters = Omit<ExportQuery, 'limit'>;

/** Lines that one request for a page looks through. */
const MAX_SCANNED = 5_000;
const PAGE = 500;
/** Lines that an export looks through: more than the stream holds. */
const MAX_EXPORT_SCANNED = 250_000;

/** The audit of the installation. */
@Injectable()
export class AuditService {
  constructor(@Dependency('auditTrail') private readonly trail: Pick<AuditTrail, 'newest' | 'oldest'>) {}

  /** A page of the lines that match, newest first. @throws {InvalidRequestError} when `from` is after `to` */
  async list({ limit, cursor, ...filters }: Query): Promise<AuditReply> {
    const range = rangeOf(filters);
    const entries: AuditEntryReply[] = [];
    let before = cursor;
    for (let scanned = 0; scanned < MAX_SCANNED; scanned += PAGE) {
      const found = await this.trail.newest({ ...range, count: PAGE }, before);
      for (const entry of found) {
        before = entry.id;
        const line = matching(entry, filters);
        if (line !== null) entries.push({ id: entry.id, line });
        if (entries.length === limit) return { entries, next_cursor: entry.id };
      }
      if (found.length < PAGE) return { entries, next_cursor: null };
    }
    return { entries, next_cursor: before ?? null };
  }

  /** The lines that match as NDJSON, oldest first, read as fast as they are taken. @throws {InvalidRequestError} as `list` */
  lines({ limit, ...filters }: ExportQuery): AsyncGenerator<string> {
    return this.export(filters, rangeOf(filters), limit);
  }

  private async *export(filters: Filters, range: Range, limit: number): AsyncGenerator<string> {
    let after: string | undefined;
    let written = 0;
    for (let scanned = 0; scanned < MAX_EXPORT_SCANNED && written < limit; scanned += PAGE) {
      const found = await this.trail.oldest({ ...range, count: PAGE }, after);
      const lines = found.filter((entry) => matching(entry, filters) !== null).slice(0, limit - written);
      written += lines.length;
      if (lines.length > 0) yield lines.map(({ line }) => `${line}\n`).join('');
      after = found.at(-1)?.id;
      if (found.length < PAGE) return;
    }
  }
}

type Range = ReturnType<typeof rangeOf>;

/** The range of times; positions of lines are in ms, by the clock of Redis. */
function rangeOf({ from, to }: Filters) {
  const [fromMs, toMs] = [from, to].map((time) => (time === undefined ? undefined : Date.parse(time)));
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs)
    throw new InvalidRequestError('from: must not be after `to`', { details: { field: 'from' } });
  return omitUndefined({ fromMs, toMs });
}

/** The line of an entry that matches; null for others, and for what is no line. */
function matching({ line }: AuditEntry, filters: Filters): Readonly<Record<string, unknown>> | null {
  const parsed = parseLine(line);
  if (parsed === null) return null;
  const wanted = [
    ['user_id', filters.user],
    ['thread_id', filters.thread],
    ['operation', filters.action],
    ['verdict', filters.outcome],
  ] as const;
  return wanted.every(([field, value]) => value === undefined || parsed[field] === value) ? parsed : null;
}

function parseLine(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return isRecord(parsed) ? parsed : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
