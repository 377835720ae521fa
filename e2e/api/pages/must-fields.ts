import { z } from 'zod';

/**
 * What DeerFlow's pages need of each answer: required fields with the types that they read. Derived from the pages'
 * behaviour, not from Caribou's contracts, which have more.
 */

const Time = z.iso.datetime({ offset: true });
const Id = z.string().min(1);

const Part = z.union([
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('image_url'), image_url: z.looseObject({ url: z.string() }) }),
]);
const Content = z.union([z.string(), z.array(Part)]);

const Human = z.looseObject({ type: z.literal('human'), id: Id, content: Content });
const Ai = z.looseObject({
  type: z.literal('ai'),
  id: Id,
  content: Content,
  tool_calls: z.array(z.looseObject({ id: Id, name: Id, args: z.record(z.string(), z.unknown()) })),
});
const Tool = z.looseObject({ type: z.literal('tool'), id: Id, name: Id, tool_call_id: Id, content: Content });
export const Message = z.discriminatedUnion('type', [Human, Ai, Tool]);

const Chunk = z.looseObject({ type: z.enum(['ai', 'AIMessageChunk', 'tool', 'human']), id: Id, content: Content });

/** The state in a stream or a history. */
const Values = z.looseObject({
  messages: z.array(Message),
  title: z.string().optional(),
  artifacts: z.array(z.string()).optional(),
  todos: z
    .array(z.looseObject({ content: z.string(), status: z.enum(['pending', 'in_progress', 'completed']) }))
    .optional(),
});

/** The data of each event that a page reads; other events are ignored. */
export const frames: Readonly<Record<string, z.ZodType>> = {
  metadata: z.looseObject({ run_id: Id }),
  values: Values,
  messages: z.tuple([Chunk, z.record(z.string(), z.unknown())]),
  updates: z.record(z.string(), z.record(z.string(), z.unknown()).nullable()),
  custom: z.looseObject({ type: z.string() }),
  events: z.looseObject({ event: z.string(), name: z.string(), data: z.record(z.string(), z.unknown()) }),
  end: z.null(),
};

export const Thread = z.looseObject({ thread_id: Id, metadata: z.record(z.string(), z.unknown()) });
export const Search = z.array(
  z.looseObject({
    thread_id: Id,
    updated_at: Time,
    values: z.looseObject({ title: z.string().optional() }).nullish(),
  }),
);
const State = z.looseObject({
  values: Values,
  next: z.array(z.string()),
  tasks: z.array(z.looseObject({ error: z.null() })),
  created_at: Time,
  checkpoint: z.looseObject({ thread_id: Id, checkpoint_ns: z.literal(''), checkpoint_id: Id }),
});
export const History = z.array(State);
export const Exported = State;
export const AnyJson = z.unknown().refine((value) => value !== undefined, 'must not be empty');
export const Run = z.looseObject({
  run_id: Id,
  thread_id: Id,
  status: z.enum(['pending', 'running', 'success', 'error', 'timeout', 'interrupted']),
});
export const Runs = z.array(Run);

/** A scheduled task in the lists and the detail view of the newest page. */
export const ScheduledTask = z.looseObject({
  id: Id,
  title: Id,
  prompt: Id,
  schedule_type: z.enum(['once', 'cron', 'interval']),
  schedule_spec: z.record(z.string(), z.unknown()),
  timezone: Id,
  status: z.enum(['enabled', 'paused', 'running', 'completed', 'failed', 'cancelled']),
  active_run_status: z.enum(['queued', 'launching', 'running']).nullable(),
  next_run_at: Time.nullable(),
  last_error: z.string().nullable(),
  max_runs: z.int().nullable(),
  end_at: Time.nullable(),
  stop_condition: z.string().nullable(),
  automatic_runs_used: z.int(),
  run_count: z.int(),
});
export const ScheduledRuns = z.array(
  z.looseObject({
    id: Id,
    thread_id: Id,
    run_id: Id.nullable(),
    trigger: z.enum(['scheduled', 'manual']),
    status: z.enum(['queued', 'launching', 'running', 'success', 'unmet', 'failed', 'skipped', 'interrupted']),
    run_number: z.int().nullable(),
    total_tokens: z.int().nullable(),
    summary: z.string().nullable(),
    stop_requested_run_id: Id.nullable(),
    scheduled_for: Time,
  }),
);
export const RunEvents = z.array(
  z.looseObject({ seq: z.int().min(1), event_type: Id, category: Id, thread_id: Id, run_id: Id, created_at: Time }),
);

export const Models = z.looseObject({
  models: z.array(z.looseObject({ name: Id, display_name: Id, supports_thinking: z.boolean(), model: Id })).min(1),
  token_usage: z.looseObject({ enabled: z.boolean() }),
});
export const Suggestions = z.looseObject({ suggestions: z.array(z.string().min(1)).min(1).max(5) });
export const Uploads = z.looseObject({
  success: z.literal(true),
  files: z.array(
    z.looseObject({ filename: Id, size: z.int(), virtual_path: z.string().startsWith('/mnt/user-data/uploads/') }),
  ),
});
const Skill = z.looseObject({
  name: Id,
  description: z.string(),
  category: z.enum(['public', 'custom']),
  enabled: z.boolean(),
});
export const Skills = z.looseObject({ skills: z.array(Skill) });
export const SkillInstalled = z.looseObject({ success: z.literal(true), skill_name: Id, message: z.string() });
export const McpConfig = z.looseObject({
  mcp_servers: z.record(z.string(), z.looseObject({ enabled: z.boolean(), description: z.string() })),
});
const Summary = z.looseObject({ summary: z.string(), updatedAt: z.string() });
export const Memory = z.looseObject({
  version: z.string(),
  lastUpdated: Time,
  user: z.looseObject({ workContext: Summary, personalContext: Summary, topOfMind: Summary }),
  history: z.looseObject({ recentMonths: Summary, earlierContext: Summary, longTermBackground: Summary }),
  facts: z.array(
    z.looseObject({ id: Id, content: z.string(), category: z.string(), confidence: z.number(), createdAt: z.string() }),
  ),
});
export const Agents = z.looseObject({ agents: z.array(z.looseObject({ name: Id, description: z.string() })) });
export const AgentCheck = z.looseObject({ available: z.boolean(), name: Id });

/** The page throws unless numbers rise without repetition, and the cursor agrees with `has_more`. */
export const MessagesPage = z
  .looseObject({
    data: z.array(
      z.looseObject({
        run_id: Id,
        seq: z.int().min(1),
        content: Message,
        metadata: z.looseObject({ caller: z.string() }),
        created_at: Time,
      }),
    ),
    has_more: z.boolean(),
    next_before_seq: z.int().nullable(),
  })
  .refine(({ data }) => data.every(({ seq }, at) => seq > (data[at - 1]?.seq ?? 0)), 'seq must rise')
  .refine((page) => page.has_more === (page.next_before_seq !== null), 'has_more and next_before_seq must agree');

export const Features = z.looseObject({
  agents_api: z.looseObject({ enabled: z.boolean() }),
  browser_control: z.looseObject({ enabled: z.boolean() }),
  mcp_tasks: z.looseObject({ enabled: z.boolean() }),
  scheduled_tasks: z.looseObject({ available: z.boolean(), running: z.boolean(), min_interval_seconds: z.int() }),
});
export const SuggestionsConfig = z.looseObject({ enabled: z.boolean(), max_suggestions: z.int() });
export const Channels = z.looseObject({ enabled: z.boolean(), providers: z.array(z.unknown()) });
export const UploadLimits = z.looseObject({ max_files: z.int(), max_file_size: z.int(), max_total_size: z.int() });
const Tokens = z.looseObject({ tokens: z.int(), runs: z.int() });
export const TokenUsage = z.looseObject({
  thread_id: Id,
  total_tokens: z.int(),
  total_input_tokens: z.int(),
  total_output_tokens: z.int(),
  total_runs: z.int(),
  by_model: z.record(z.string(), Tokens),
  by_caller: z.looseObject({ lead_agent: z.int(), subagent: z.int(), middleware: z.int() }),
});
const Checkpoint = z.looseObject({ checkpoint_ns: z.literal(''), checkpoint_id: Id, checkpoint_map: z.null() });
export const Replay = z.looseObject({
  input: z.looseObject({ messages: z.array(Human).min(1) }),
  checkpoint: Checkpoint,
  metadata: z.looseObject({
    regenerate_from_message_id: Id,
    regenerate_from_run_id: Id,
    regenerate_checkpoint_id: Id,
  }),
  target_run_id: Id,
});
export const EditReplay = Replay.extend({
  replacement_human_message_id: Id,
  source_message_ids: z.array(Id).min(1),
});
export const Branch = z.looseObject({
  thread_id: Id,
  parent_thread_id: Id,
  parent_checkpoint_id: Id,
  branched_from_message_id: Id,
  workspace_clone_mode: z.string(),
  history_seed_mode: z.string(),
});
