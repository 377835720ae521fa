import { type RouteInput, type SkillInstallReply, type SkillReply, skillRoutes } from '@caribou/contracts';
import { Controller, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { SkillInstaller } from './skill-installer.js';
import { SkillUploads } from './skill-uploads.js';
import { SkillsService } from './skills.service.js';

@Controller(API_ROOTS)
export class SkillsController {
  constructor(
    private readonly skills: SkillsService,
    private readonly installer: SkillInstaller,
    private readonly uploads: SkillUploads,
  ) {}

  @Route(skillRoutes.list)
  async list(@Caller() { userId }: Principal): Promise<{ skills: SkillReply[] }> {
    return { skills: await this.skills.list(userId) };
  }

  @Route(skillRoutes.get)
  get(@Caller() { userId }: Principal, @Input() { params }: RouteInput<typeof skillRoutes.get>): Promise<SkillReply> {
    return this.skills.get(userId, params.name);
  }

  @Route(skillRoutes.set)
  set(
    @Caller() { userId }: Principal,
    @Input() { params, body }: RouteInput<typeof skillRoutes.set>,
  ): Promise<SkillReply> {
    return this.skills.switchTo(userId, params.name, body.enabled);
  }

  @Route(skillRoutes.remove)
  remove(@Caller() { userId }: Principal, @Input() { params }: RouteInput<typeof skillRoutes.remove>) {
    return this.skills.remove(userId, params.name);
  }

  @Route(skillRoutes.install)
  install(
    @Caller() { userId }: Principal,
    @Input() { body }: RouteInput<typeof skillRoutes.install>,
  ): Promise<SkillInstallReply> {
    return this.installer.install({ userId, threadId: body.thread_id }, body.path);
  }

  @Route(skillRoutes.upload)
  upload(@Caller() { userId }: Principal, @Req() request: FastifyRequest): Promise<SkillInstallReply> {
    return this.uploads.install(userId, request);
  }
}
