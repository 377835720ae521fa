import { newId, omitUndefined } from '@caribou/contracts';
import type { AccessLine } from '@caribou/state';
import { keyLabel, type Principal } from '../auth/principal.js';

/** The administrator who changes something, and from where. */
export interface Actor {
  readonly caller: Principal;
  /** Address of the client. */
  readonly address: string;
}

/** The line of the audit stream for a change of keys or accounts. */
export const accessLine = (
  { caller, address }: Actor,
  change: Pick<AccessLine, 'operation' | 'what' | 'user_id' | 'api_key_id'>,
): AccessLine => ({
  id: newId(),
  ...change,
  verdict: 'ok',
  decided_by: caller.userId,
  decided_from: address,
  ...omitUndefined({ decided_with: keyLabel(caller) }),
});
