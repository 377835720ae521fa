import { InvalidRequestError, type RouteInput, type UsageReply, type usageRoutes } from '@caribou/contracts';
import type { UsageLedger } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';
import { summarizeUsage } from './summarize-usage.js';

type Query = RouteInput<typeof usageRoutes.get>['query'];

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;

/** Reads the usage of models from the ledger. */
@Injectable()
export class UsageService {
  constructor(
    @Dependency('usageLedger') private readonly ledger: Pick<UsageLedger, 'read'>,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'models' | 'usageDays'>,
  ) {}

  /** @param userId undefined: all users @throws {InvalidRequestError} for days in the wrong order, or too many */
  async read({ from, to, group }: Query, userId: string | undefined): Promise<UsageReply> {
    const days = daysOf({ from, to }, this.settings.usageDays);
    const rows = await this.ledger.read(days, userId);
    const [first = '', last = ''] = [days[0], days.at(-1)];
    const currency = this.settings.models.find(({ pricing }) => pricing !== undefined)?.pricing?.currency ?? null;
    return { from: first, to: last, currency, ...summarizeUsage(rows, group) };
  }
}

/** @param stored how many days are stored */
function daysOf({ from, to }: Pick<Query, 'from' | 'to'>, stored: number): readonly string[] {
  const last = Date.parse(to ?? new Date().toISOString().slice(0, 10));
  const first = from === undefined ? last - (Math.min(DEFAULT_DAYS, stored) - 1) * DAY_MS : Date.parse(from);
  const count = Math.round((last - first) / DAY_MS) + 1;
  if (count < 1) throw new InvalidRequestError('from: must not be after `to`');
  if (count > stored)
    throw new InvalidRequestError(`from, to: must be at most ${stored} days, as long as usage is stored`);
  return Array.from({ length: count }, (_, at) => new Date(first + at * DAY_MS).toISOString().slice(0, 10));
}
