import { z } from 'zod';

/** The whole configuration of a sandbox agent. Nothing in it is secret: commands of older kernels could read it. */
const AgentEnvironment = z.object({
  CARIBOU_AGENT_TOKEN_SHA256: z.string().regex(/^[0-9a-f]{64}$/, '64 lower-case hexadecimal digits are needed'),
  CARIBOU_AGENT_HOST: z.string().min(1).default('::'),
  CARIBOU_AGENT_PORT: z.coerce.number().int().min(1).max(65_535).default(7777),
  CARIBOU_AGENT_PROXY_PORT: z.coerce.number().int().min(1).max(65_535).default(3128),
  CARIBOU_AGENT_SKILLS: z.string().startsWith('/').default('/mnt/skills'),
  CARIBOU_AGENT_ORPHAN_MS: z.coerce.number().int().min(1_000).max(86_400_000).default(300_000),
});

export interface AgentSettings {
  /** SHA-256 of the token that requests have, in hexadecimal. */
  readonly tokenSha256: string;
  readonly host: string;
  readonly port: number;
  /** Port of the HTTP proxy for programs in the sandbox, on its loopback. */
  readonly proxyPort: number;
  /** Where the agent writes skills; commands find them at their usual path. Named `skills`. */
  readonly skillsDirectory: string;
  /** Without a request for so long the agent ends, in milliseconds. */
  readonly orphanMs: number;
}

/** Reads the environment of a sandbox agent. @throws {Error} naming the variable that is missing or wrong, never its value */
export function readAgentEnvironment(env: Readonly<Record<string, string | undefined>> = process.env): AgentSettings {
  const parsed = AgentEnvironment.safeParse(env);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`);
  }
  const { data } = parsed;
  return {
    tokenSha256: data.CARIBOU_AGENT_TOKEN_SHA256,
    host: data.CARIBOU_AGENT_HOST,
    port: data.CARIBOU_AGENT_PORT,
    proxyPort: data.CARIBOU_AGENT_PROXY_PORT,
    skillsDirectory: data.CARIBOU_AGENT_SKILLS,
    orphanMs: data.CARIBOU_AGENT_ORPHAN_MS,
  };
}
