import { ConflictError, type RouteInput, userRoutes } from '@caribou/contracts';
import { Controller } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { Dependency } from '../dependency.js';
import type { Erasures } from './erasures.js';

/** Routes that erase users; `me` is always the caller, never the id of another user. */
@Controller(API_ROOTS)
export class UsersController {
  constructor(@Dependency('erasures') private readonly erasures: Erasures) {}

  @Route(userRoutes.eraseMe)
  eraseMe(@Caller() caller: Principal): Promise<void> {
    return this.eraseUnlessLast(caller, caller.userId);
  }

  @Route(userRoutes.erase)
  async erase(@Caller() caller: Principal, @Input() { params }: RouteInput<typeof userRoutes.erase>): Promise<void> {
    await this.eraseUnlessLast(caller, params.user_id);
  }

  /** Erases the user. Administrators cannot erase themselves, because an installation needs at least one. */
  private async eraseUnlessLast(caller: Principal, userId: string): Promise<void> {
    if (caller.admin && caller.session !== undefined && caller.userId === userId)
      throw new ConflictError('an administrator is erased by another one');
    const isPerson = caller.session !== undefined && caller.userId !== userId;
    await this.erasures.eraseUser(userId, isPerson ? caller.userId : undefined);
  }
}
