import { ForbiddenError, type McpConfigReply, mcpRoutes, type RouteInput } from '@caribou/contracts';
import { Controller, Inject } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { McpConfigService } from './mcp-config.service.js';

/** Routes for MCP servers. They apply to all users, so only administrators may use them. */
@Controller(API_ROOTS)
export class McpController {
  constructor(@Inject(McpConfigService) private readonly config: McpConfigService) {}

  @Route(mcpRoutes.read)
  async read(@Caller() caller: Principal): Promise<McpConfigReply> {
    requireAdmin(caller);
    return await this.config.read();
  }

  @Route(mcpRoutes.replace)
  async replace(
    @Caller() caller: Principal,
    @Input() { body }: RouteInput<typeof mcpRoutes.replace>,
  ): Promise<McpConfigReply> {
    requireAdmin(caller);
    return await this.config.replace(body.mcp_servers);
  }

  @Route(mcpRoutes.toggle)
  async toggle(
    @Caller() caller: Principal,
    @Input() { body }: RouteInput<typeof mcpRoutes.toggle>,
  ): Promise<McpConfigReply> {
    requireAdmin(caller);
    return await this.config.toggle(body.server_name, body.enabled);
  }

  @Route(mcpRoutes.reset)
  async reset(@Caller() caller: Principal) {
    requireAdmin(caller);
    await this.config.reset();
    return { success: true, message: 'All MCP servers are being reconnected.' };
  }
}

function requireAdmin({ admin }: Principal): void {
  if (!admin) throw new ForbiddenError('only administrators may see and change MCP servers');
}
