import { Controller, Header } from '@nestjs/common';
import { memoryRoutes, type RouteInput } from '@caribou/contracts';
import type { MemoryScope } from '@caribou/core';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { MemoryEdits } from './memory-edits.js';
import { MemoryService } from './memory.service.js';

type Of<Name extends keyof typeof memoryRoutes> = RouteInput<(typeof memoryRoutes)[Name]>;

/** The caller's memory for the named agent. Requests cannot name another user. */
const scopeOf = (caller: Principal, { query }: { readonly query: { readonly agent: string } }): MemoryScope => ({
  userId: caller.userId,
  agent: query.agent,
});

@Controller(API_ROOTS)
export class MemoryController {
  constructor(
    private readonly memories: MemoryService,
    private readonly edits: MemoryEdits,
  ) {}

  @Route(memoryRoutes.get)
  get(@Caller() caller: Principal, @Input() input: Of<'get'>) {
    return this.memories.get(scopeOf(caller, input));
  }

  @Route(memoryRoutes.clear)
  clear(@Caller() caller: Principal, @Input() input: Of<'clear'>) {
    return this.edits.clear(scopeOf(caller, input));
  }

  @Route(memoryRoutes.erase)
  erase(@Caller() caller: Principal) {
    return this.memories.erase(caller.userId);
  }

  @Route(memoryRoutes.config)
  config() {
    return this.memories.config();
  }

  @Route(memoryRoutes.status)
  status(@Caller() caller: Principal, @Input() input: Of<'status'>) {
    return this.memories.status(scopeOf(caller, input));
  }

  @Route(memoryRoutes.reload)
  reload(@Caller() caller: Principal, @Input() input: Of<'reload'>) {
    return this.memories.get(scopeOf(caller, input));
  }

  @Route(memoryRoutes.history)
  history(@Caller() caller: Principal, @Input() input: Of<'history'>) {
    return this.memories.history(scopeOf(caller, input));
  }

  @Route(memoryRoutes.facts)
  facts(@Caller() caller: Principal, @Input() input: Of<'facts'>) {
    return this.memories.facts(scopeOf(caller, input), input.query);
  }

  @Route(memoryRoutes.addFact)
  addFact(@Caller() caller: Principal, @Input() input: Of<'addFact'>) {
    return this.edits.addFact(scopeOf(caller, input), input.body);
  }

  @Route(memoryRoutes.editFact)
  editFact(@Caller() caller: Principal, @Input() input: Of<'editFact'>) {
    return this.edits.editFact(scopeOf(caller, input), input.params.fact_id, input.body);
  }

  @Route(memoryRoutes.removeFact)
  removeFact(@Caller() caller: Principal, @Input() input: Of<'removeFact'>) {
    return this.edits.removeFact(scopeOf(caller, input), input.params.fact_id);
  }

  @Route(memoryRoutes.exported)
  @Header('content-disposition', 'attachment; filename="memory.json"')
  exportMemory(@Caller() caller: Principal, @Input() input: Of<'exported'>) {
    return this.memories.get(scopeOf(caller, input));
  }

  @Route(memoryRoutes.imported)
  importMemory(@Caller() caller: Principal, @Input() input: Of<'imported'>) {
    return this.edits.replace(scopeOf(caller, input), input.body);
  }
}
