import { CommandRule, CommandVerdict, SandboxDriverKind, UserId } from '@caribou/contracts';
import { z } from 'zod';
import { AgentsApiFile } from './agents-schema.js';
import { AuthFile } from './auth-schema.js';
import { chainSections } from './chain-schema.js';
import { HOST_RULE } from './host-rule.js';
import { McpFile } from './mcp-schema.js';
import { QuotasFile } from './quotas-schema.js';
import { NatsFile, StoreFile } from './server-schema.js';
import { InputPolishFile } from './input-polish-schema.js';
import { KubernetesFile } from './sandbox/kubernetes-schema.js';
import { integer } from './kinds/setting-kinds.js';
import { FilesFile } from './files-schema.js';
import { ClocksFile, CronsFile, ExplainFile, WebhooksFile } from './timers-schema.js';
import { SuggestionsFile } from './suggestions-schema.js';
import { UidsFile } from './sandbox/uids-schema.js';
import { UsageFile } from './usage-schema.js';
import { WebFile } from './web-schema.js';

/**
 * The sections of config.yaml: those of DeerFlow's format, and further ones. Each key has its unit (in its name or
 * description), range and default here; config.example.yaml is generated from this schema.
 */

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export const RunnerFile = z
  .object({
    slots: integer(64, 1, 1_000).describe('Runs at once in one agent-runner'),
    takeover_slots: z
      .number()
      .int()
      .min(0)
      .max(1_000)
      .optional()
      .describe('Runs beyond slots that an agent-runner takes over from one that died; unset: as many as slots'),
    max_running_per_user: integer(0, 0, 100_000).describe(
      'Runs of one user at once, over all agent-runners; further ones wait. 0: no limit',
    ),
    user_weights: z
      .record(UserId, z.int().min(1).max(100))
      .refine((weights) => Object.keys(weights).length <= 1_000, 'at most 1000 users')
      .default({})
      .describe(
        'How many free slots a user gets for one that others get, while both wait, such as alice: 4; users that are not named have 1',
      ),
    max_attempts: integer(5, 1, 100).describe('Attempts without a commit between them before a run ends as error'),
    max_turns: integer(100, 1, 1_000).describe('Model turns of a run whose request sets no recursion_limit'),
    max_turns_cap: integer(1_000, 1, 10_000).describe('Highest recursion_limit a request may ask for'),
  })
  .describe('The agent-runner');

export const LimitsFile = z
  .object({
    memory_bytes: integer(1_073_741_824, 16_777_216, 1_099_511_627_776).describe('Memory of one sandbox'),
    cpus: z.number().min(0.1).max(256).default(1).describe('CPUs of one sandbox'),
    pids: integer(256, 16, 32_768).describe('Processes and threads in one sandbox'),
    tmp_bytes: integer(268_435_456, 1_048_576, 1_099_511_627_776).describe('Size of /tmp'),
    workspace_bytes: integer(2_147_483_648, 1_048_576, 1_099_511_627_776).describe(
      "Disk a thread's files may take; checked each second, and a command that exceeds it is ended",
    ),
    workspace_files: integer(100_000, 100, 10_000_000).describe('Files and directories a thread may have'),
    min_free_bytes: integer(268_435_456, 0, 1_099_511_627_776).describe(
      'With less than this on the disk of CARIBOU_HOME nothing more is written, and commands that run for long are ended',
    ),
    command_timeout_ms: integer(600_000, 100, 3_600_000).describe('Longest run of one command, in milliseconds'),
    max_output_bytes: integer(262_144, 1_024, 262_144).describe('Output stored of one command'),
  })
  .describe('What one sandbox may use');

const CIDR = /^[0-9a-fA-F:.]+\/\d{1,3}$/;

export const NetworkFile = z
  .object({
    allow: z
      .array(z.string().max(300).regex(HOST_RULE, 'must be a host or *.suffix, with :port where it is not 80 or 443'))
      .max(1_000)
      .default([])
      .describe(
        'Hosts that sandboxes may reach through the egress proxy, such as pypi.org, "*.npmjs.org" or mirror.lan:8443; ports 80 and 443 unless one is named',
      ),
    allow_private: z
      .array(z.string().max(50).regex(CIDR, 'must be a CIDR such as 10.20.0.0/16'))
      .max(100)
      .default([])
      .describe('Private ranges that those hosts may lie in, as CIDRs; else public addresses only'),
  })
  .describe('Network of the sandboxes: none as long as no host is allowed');

export const SandboxFile = z
  .object({
    driver: z
      .enum(['auto', ...SandboxDriverKind.options])
      .default('auto')
      .describe('auto: Docker when an engine answers, else bwrap; kubernetes is used only when it is named'),
    image: z
      .string()
      .min(1)
      .default('caribou-sandbox:latest')
      .describe('Image of the docker driver; name@sha256:… or an image id (sha256:…) pins it'),
    runtime: z
      .string()
      .min(1)
      .optional()
      .describe('OCI runtime of the docker driver; runsc, or runsc-…: gVisor; unset: the engine decides'),
    host_home_dir: z
      .string()
      .startsWith('/', 'must be an absolute path')
      .optional()
      .describe('CARIBOU_HOME as the Docker engine sees it, when the sandbox-manager itself runs in a container'),
    host_run_dir: z
      .string()
      .startsWith('/', 'must be an absolute path')
      .optional()
      .describe('CARIBOU_RUN_DIR as the Docker engine sees it, in the same case'),
    max_boxes: integer(64, 1, 10_000).describe(
      'Sandboxes of one sandbox-manager; above it the longest unused is removed',
    ),
    idle_ms: integer(600_000, 1_000, 604_800_000).describe(
      'A sandbox that is unused for this long is removed; files stay',
    ),
    reap_ms: integer(60_000, 100, 3_600_000).describe('How often a sandbox-manager checks for sandboxes to remove'),
    leftover_grace_ms: integer(30_000, 1_000, 3_600_000).describe(
      'How long sandboxes of a dead sandbox-manager stay; at least manager_lease_ms',
    ),
    uids: UidsFile.prefault({}),
    limits: LimitsFile.prefault({}),
    network: NetworkFile.prefault({}),
    kubernetes: KubernetesFile.prefault({}),
  })
  .refine(({ kubernetes, limits }) => kubernetes.workspace_bytes >= limits.workspace_bytes, {
    error: 'must be at least sandbox.limits.workspace_bytes',
    path: ['kubernetes', 'workspace_bytes'],
  })
  .describe('Where commands run; there is no execution on the host');

export const CommandRulesFile = z
  .object({
    max_chars: integer(10_000, 1, 262_144).describe('Longest command; a longer one is blocked'),
    defaults: z.boolean().default(true).describe('Apply the built-in rules (docs/command-rules.md)'),
    disabled: z.array(z.string()).max(200).default([]).describe('Ids of built-in rules that do not apply'),
    verdicts: z
      .record(z.string(), CommandVerdict)
      .default({})
      .describe('Other verdicts for built-in rules, by id: pass, warn, ask (docs/approvals.md) or block'),
    rules: z.array(CommandRule).max(200).default([]).describe('Further rules: id, verdict, match, message'),
  })
  .describe('What the agent may run in its sandbox; these rules are for audit, the sandbox is the boundary');

export const UploadsFile = z
  .object({
    max_files: integer(10, 1, 1_000).describe('Files of one request'),
    max_file_size: integer(52_428_800, 1, 536_870_912).describe('Bytes of one file'),
    max_total_size: integer(104_857_600, 1, 17_179_869_184).describe('Bytes of one request'),
    auto_convert_documents: z
      .boolean()
      .default(true)
      .describe('Make Markdown of PDF, DOC, DOCX, PPT, PPTX, XLS, XLSX, HTML and CSV, beside the file'),
    convert_wait_ms: integer(5_000, 0, 60_000).describe(
      'Longest wait of an upload for its Markdown; the conversion continues after it',
    ),
    convert_at_once: integer(2, 1, 32).describe('Conversions of one gateway at once, each a process of up to 1.5 GB'),
  })
  .describe('Uploads; a request over a limit gets 413');

export const SkillsFile = z
  .object({
    path: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe('Folder with public/ and custom/ for all users, relative to this file; null: the built-in skills'),
    max_installed: integer(100, 0, 1_000).describe('Skills that one user may have installed'),
    max_installed_bytes: integer(1_073_741_824, 0, 1_099_511_627_776).describe('Bytes of all of them'),
  })
  .describe('Skills (docs/skills.md)');

export const TitleFile = z
  .object({
    enabled: z.boolean().default(true).describe('Give a thread a title after its first answer'),
    max_words: integer(6, 1, 20).describe('Longest title that the model is asked for, in words'),
    max_chars: integer(60, 10, 200).describe('Longest title, in characters'),
    model_name: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe('Model that writes titles; null: cut from the first message'),
  })
  .describe('Titles of threads');

/** The entry of one model; further keys become fields of the request's body. */
/** Sections of plain settings, by their key in the file. */
export const sections = {
  title: TitleFile,
  suggestions: SuggestionsFile,
  input_polish: InputPolishFile,
  ...chainSections,
  web: WebFile,
  sandbox: SandboxFile,
  command_rules: CommandRulesFile,
  uploads: UploadsFile,
  skills: SkillsFile,
  agents_api: AgentsApiFile,
  mcp: McpFile,
  auth: AuthFile,
  runner: RunnerFile,
  nats: NatsFile,
  store: StoreFile,
  quotas: QuotasFile,
  usage: UsageFile,
  explain: ExplainFile,
  ...{ crons: CronsFile, files: FilesFile, webhooks: WebhooksFile },
  clocks: ClocksFile,
} as const;

/** Log levels by their Python names, which DeerFlow's files use. */
const pythonLevels: Readonly<Record<string, string>> = { warning: 'warn', critical: 'error' };

/** Converts a level to lower case and Python's names to those used here. */
export const normalizeLogLevel = (name: string): string => pythonLevels[name.toLowerCase()] ?? name.toLowerCase();

export const LogLevel = z
  .preprocess(
    (value) => (typeof value === 'string' ? normalizeLogLevel(value) : value),
    z.enum(logLevels).default('info'),
  )
  .describe('Least level that is logged; LOG_LEVEL takes precedence');
