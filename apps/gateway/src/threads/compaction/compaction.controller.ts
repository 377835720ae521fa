import { compactionRoutes, type RouteInput } from '@caribou/contracts';
import { Controller } from '@nestjs/common';
import { keyLabel, type Principal } from '../../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../../http/route.decorators.js';
import { CompactionService } from './compaction.service.js';

@Controller(API_ROOTS)
export class CompactionController {
  constructor(private readonly compaction: CompactionService) {}

  @Route(compactionRoutes.compact)
  compact(@Caller() caller: Principal, @Input() { params, body }: RouteInput<typeof compactionRoutes.compact>) {
    const thread = { userId: caller.userId, threadId: params.thread_id };
    return this.compaction.compact(thread, body, keyLabel(caller));
  }
}
