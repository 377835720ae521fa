import { Controller } from '@nestjs/common';
import { adminConfigRoutes, type AdminConfigReply, type ConfigFindingReply } from '@caribou/contracts';
import { Dependency } from '../dependency.js';
import type { Dependencies } from '../dependencies.js';
import { API_ROOTS, Route } from '../http/route.decorators.js';
import { ReadinessCheck } from '../system/readiness.js';

@Controller(API_ROOTS)
export class AdminConfigController {
  constructor(
    @Dependency('loadedConfig') private readonly loaded: Dependencies['loadedConfig'],
    private readonly readiness: ReadinessCheck,
  ) {}

  @Route(adminConfigRoutes.get)
  async get(): Promise<AdminConfigReply> {
    const { config, sources, findings } = this.loaded;
    const { missing, degraded } = await this.readiness.now();
    return {
      config: { ...config },
      sources: Object.fromEntries(Object.entries(sources).map(([key, from]) => [key, [...from]])),
      findings: [
        ...Object.entries(missing).map(([topic, text]) => findingOf('fail', topic, text)),
        ...Object.entries(degraded).map(([topic, text]) => findingOf('warn', topic, text)),
        ...findings.map(({ level, topic, text, fix = null }) => ({ level, topic, text, fix })),
      ],
    };
  }
}

const findingOf = (level: 'warn' | 'fail', topic: string, text: string): ConfigFindingReply => ({
  level,
  topic,
  text,
  fix: null,
});
