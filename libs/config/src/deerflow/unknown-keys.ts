import { isRecord } from '@caribou/contracts';
import type { Findings } from '../common/findings.js';

/**
 * Why a key of DeerFlow's config.yaml is not used. `elsewhere`: the setting exists under another key or needs none.
 * `missing`: there is no counterpart, and the text says what to do instead.
 */
type Explanation = { readonly elsewhere: string } | { readonly missing: string };

const inRedis: Explanation = { elsewhere: 'all state is stored in Redis (REDIS_URL)' };
const byClocks: Explanation = { elsewhere: 'leases have their times in clocks' };
const byMcp = 'offer the same over an MCP server (extensions_config.json)';

/** DeerFlow's keys without a counterpart of the same name, by section or `section.key`. */
const explanations: Readonly<Record<string, Explanation>> = {
  config_version: { elsewhere: 'the file is read whatever its version' },
  logging: { elsewhere: 'log lines are JSON and name their run already' },
  database: inRedis,
  checkpointer: inRedis,
  run_events: inRedis,
  agent_storage: inRedis,
  dedupe_storage: inRedis,
  stream_bridge: { elsewhere: 'events go by NATS and Redis (NATS_URL, REDIS_URL)' },
  run_ownership: byClocks,
  tool_progress: { missing: 'loop_detection and token_budget hold an agent that gets nowhere' },
  channels: { missing: 'put the messenger in front of the HTTP API' },
  channel_connections: { missing: 'put the messenger in front of the HTTP API' },
  acp_agents: { missing: `hand the work to subagents.custom_agents, or ${byMcp}` },
  guardrails: { missing: 'write a middleware with wrapToolCall (docs/custom-middleware.md), or use command_rules' },
  authorization: {
    missing:
      'auth and CARIBOU_API_KEYS separate users from admins; put further rules into a proxy in front of the gateway',
  },
  'auth.oidc': { missing: 'users sign in with e-mail and password (docs/sign-in.md)' },
  scheduler: { elsewhere: 'every gateway starts scheduled tasks; their limits are in crons (docs/crons.md)' },
  mcp_tasks: { missing: 'tools of MCP servers are called and awaited' },
  skill_scan: { elsewhere: 'skills are checked when they are installed' },
  'skills.container_path': { elsewhere: 'agents see skills at /mnt/skills' },
  'skills.deferred_discovery': {
    elsewhere: 'prompts list names and descriptions, and agents read the rest when they need it',
  },
  skill_evolution: { missing: 'agents do not write skills; remove the section' },
  'sandbox.port': { elsewhere: 'sandboxes need no port' },
  'sandbox.container_prefix': { elsewhere: 'names of sandboxes are generated' },
  'sandbox.replicas': { elsewhere: 'sandbox.max_boxes is the number of sandboxes of one sandbox-manager' },
  'sandbox.ownership': byClocks,
  'sandbox.thread_data_mounts': { elsewhere: 'files of threads are stored in CARIBOU_HOME' },
  'sandbox.bash_output_max_chars': { elsewhere: 'the tool shows 20000 characters' },
  'sandbox.read_file_output_max_chars': { elsewhere: 'the tool shows 50000 characters' },
  'sandbox.ls_output_max_chars': { elsewhere: 'the tool shows 20000 characters' },
  'sandbox.image': {
    missing: 'the image is for another sandbox provider; without `use`, image names one for the docker driver',
  },
  'sandbox.allow_host_bash': { missing: 'commands never run on the host; remove the key' },
  'sandbox.mounts': { missing: 'sandboxes see the files of their thread only; upload what the agent shall read' },
  'sandbox.environment': { missing: 'commands have an environment of their own; set variables in the command' },
  'sandbox.provisioner_url': { missing: 'run sandbox-managers on the machines that shall run sandboxes' },
  'sandbox.provisioner_api_key': { elsewhere: 'sandbox-managers are reached by NATS' },
  'title.prompt_template': { missing: 'max_words limits the title; remove the key' },
  'tool_output.storage_subdir': { elsewhere: 'results go to a folder of the thread' },
  'tool_output.tool_overrides': { missing: 'the thresholds apply to all tools; exempt_tools excludes some' },
  'loop_detection.max_tracked_threads': { elsewhere: 'counters are stored in the state of each thread' },
  'safety_finish_reason.detectors': { missing: 'a middleware can read finish reasons (docs/custom-middleware.md)' },
  'uploads.pdf_converter': { elsewhere: 'there is one converter of PDF' },
  'summarization.skill_file_read_tool_names': { elsewhere: 'skills are read with read_file' },
  'memory.manager_class': { elsewhere: 'there is one memory, in Redis' },
  'memory.backend_config': { elsewhere: 'its keys that have a counterpart are read as keys of memory' },
  'memory.storage_path': inRedis,
  'memory.mode': { elsewhere: 'memory is extracted from conversations' },
  'memory.shutdown_flush_timeout_seconds': { elsewhere: 'the memory queue survives a stop' },
};

/** Adds one warning or notice for a key that no schema has; none for a missing feature that is switched off or empty. */
export function warnAboutUnknownKey(key: string, value: unknown, findings: Findings): void {
  const explanation = Object.hasOwn(explanations, key) ? explanations[key] : undefined;
  if (explanation === undefined) {
    findings.warnings.push(`${key}: not used: there is no such key; config.example.yaml has those there are`);
  } else if ('elsewhere' in explanation) {
    findings.notices.push(`${key}: not used: ${explanation.elsewhere}`);
  } else if (!isOff(value)) findings.warnings.push(`${key}: not used: there is no counterpart; ${explanation.missing}`);
}

function isOff(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isRecord(value)) return value['enabled'] === false || Object.keys(value).length === 0;
  return value === undefined || value === null || value === false || value === '';
}
