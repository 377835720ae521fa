import { type McpConfigReply, mcpRoutes, type RouteInput } from '@caribou/contracts';
import { Controller, Inject } from '@nestjs/common';
import { API_ROOTS, Input, Route } from '../http/route.decorators.js';
import { McpConfigService } from './mcp-config.service.js';

/** Routes for MCP servers. They apply to all users, so their contracts are for administrators. */
@Controller(API_ROOTS)
export class McpController {
  constructor(@Inject(McpConfigService) private readonly config: McpConfigService) {}

  @Route(mcpRoutes.read)
  async read(): Promise<McpConfigReply> {
    return await this.config.read();
  }

  @Route(mcpRoutes.replace)
  async replace(@Input() { body }: RouteInput<typeof mcpRoutes.replace>): Promise<McpConfigReply> {
    return await this.config.replace(body.mcp_servers);
  }

  @Route(mcpRoutes.toggle)
  async toggle(@Input() { body }: RouteInput<typeof mcpRoutes.toggle>): Promise<McpConfigReply> {
    return await this.config.toggle(body.server_name, body.enabled);
  }

  @Route(mcpRoutes.reset)
  async reset() {
    await this.config.reset();
    return { success: true, message: 'All MCP servers are being reconnected.' };
  }
}
