import type { AccessRole, AccountPageReply, AccountReply } from '@caribou/contracts';
import type { AccountDirectory, ListedAccount } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../dependency.js';
import { accessLine, type Actor } from './access-line.js';

/** The accounts of people who sign in, as administrators see and change them. */
@Injectable()
export class AccountsService {
  constructor(@Dependency('accountDirectory') private readonly directory: AccountDirectory) {}

  async list(page: { readonly limit: number; readonly offset: number }): Promise<AccountPageReply> {
    const { total, accounts } = await this.directory.list(page);
    return { users: accounts.map(accountReply), total };
  }

  async setRole(actor: Actor, userId: string, role: AccessRole): Promise<AccountReply> {
    const line = accessLine(actor, { operation: 'account.set_role', user_id: userId, what: `role ${role}` });
    return accountReply(await this.directory.setRole(userId, role, line));
  }

  /** @returns how many sessions were open */
  endSessions(actor: Actor, userId: string): Promise<number> {
    const what = 'all sessions end';
    return this.directory.endSessions(
      userId,
      accessLine(actor, { operation: 'account.end_sessions', user_id: userId, what }),
    );
  }
}

const timeOf = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());

const accountReply = ({ userId, email, role, createdAt, signedInAt, sessions }: ListedAccount): AccountReply => ({
  user_id: userId,
  email,
  role,
  created_at: timeOf(createdAt),
  last_sign_in_at: timeOf(signedInAt),
  sessions,
});
