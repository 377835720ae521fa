import type { ServerResponse } from 'node:http';
import { pause, sendJson } from '../../demo-model/answer.js';
import type { Control, LiveRecord } from '../../demo-model/control.js';
import type { Delta, Op, Reply } from '../../demo-model/reply.js';
import { cutEventWriter, type EventWriter, wholeEventWriter } from './event-writer.js';
import { faultOf, type Problem } from './problem.js';
import { seededRandom } from './random.js';
import type {
  AnswerEnd,
  CheckedRequest,
  EndReason,
  HttpAnswer,
  InputTokens,
  Renderer,
  TokenCounts,
  Vendor,
} from './vendor.js';

export interface AnswerContext {
  vendor: Vendor;
  checked: CheckedRequest;
  renderer: Renderer;
  control: Control;
  record: LiveRecord;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
  /** Absent: each event in one write. */
  cutSeed: number | undefined;
  input: TokenCounts['input'];
  onUsage(usage: TokenCounts): void;
}

/** Sends a reply in the vendor's shape; returns early, without an end, when the client disconnects. */
export async function sendAnswer(res: ServerResponse, reply: Reply, context: AnswerContext): Promise<void> {
  const answer = new Answer(res, reply, context);
  for (const op of reply.ops) {
    if (context.signal.aborted) return;
    if (await answer.carryOut(op)) return;
  }
  if (!context.signal.aborted) await answer.finish(reply.finish);
}

const FINISHING: Partial<Record<Problem['kind'], EndReason>> = {
  'content-filter': 'content_filter',
  refusal: 'refusal',
};

class Answer {
  private readonly writer: EventWriter;
  private begun = false;

  constructor(
    private readonly res: ServerResponse,
    private readonly reply: Reply,
    private readonly context: AnswerContext,
  ) {
    const { cutSeed, signal, record } = context;
    this.writer =
      cutSeed === undefined
        ? wholeEventWriter(res, signal)
        : cutEventWriter(res, signal, seededRandom(cutSeed + record.id));
  }

  /** Carries out one step of the reply; true when the answer has ended by it. */
  async carryOut(op: Op): Promise<boolean> {
    const { control, record, signal } = this.context;
    if (op.op === 'delta') {
      await this.write(op.delta);
      record.deltas += 1;
      return false;
    }
    if (op.op === 'fail') return await this.fail({ kind: 'status', status: op.status, message: op.message });
    if (op.op === 'fault' && op.kind === 'stop') return await this.stopBy(op.detail);
    if (op.op === 'fault') return await this.fail(faultOf(op.kind, op.detail, this.context.checked.chat.model));
    await this.writer.flush();
    if (op.op === 'wait') await pause(op.ms, signal);
    else if (op.op === 'hold') await control.hold(op.name, record.id, signal);
    else if (op.op === 'headers') this.headers();
    else return this.cut(op.reset);
    return false;
  }

  /** Ends the answer by a stop reason of the vendor's own. */
  private async stopBy(stopReason: string): Promise<boolean> {
    const known = this.context.vendor.stopReasons ?? [];
    if (!known.includes(stopReason)) {
      throw new TypeError(`"#fault stop ${stopReason}": the vendor's own stop reasons are: ${known.join(', ')}`);
    }
    await this.finish('stop', { stopReason });
    return true;
  }

  async finish(reason: EndReason, more: Pick<AnswerEnd, 'stopReason'> = {}): Promise<void> {
    const { renderer, record, checked } = this.context;
    const end: AnswerEnd = { reason, ...more, usage: this.usage() };
    const events = [...(await this.beginning()), ...renderer.finish(end)];
    record.finished = true;
    this.context.onUsage(end.usage);
    if (!checked.stream) return sendJson(this.res, 200, renderer.body(end), record);
    await this.end(events);
  }

  private async fail(problem: Problem): Promise<boolean> {
    const { vendor, renderer, record, checked } = this.context;
    const answer = this.res.headersSent ? undefined : vendor.refuse(problem);
    const reason = FINISHING[problem.kind];
    if (answer === undefined && reason !== undefined) {
      await this.finish(reason);
      return true;
    }
    record.finished = true;
    if (answer !== undefined) sendHttpAnswer(this.res, answer, record);
    else if (!checked.stream) this.sendBrokenJson();
    else await this.end([...(await this.beginning()), ...renderer.fail(problem)]);
    return true;
  }

  private sendBrokenJson(): void {
    this.context.record.status = 200;
    this.res.writeHead(200, { 'content-type': 'application/json' });
    this.res.end('{"id":');
  }

  /** Ends the body without the vendor's end, or breaks the connection. */
  private cut(reset: boolean): boolean {
    this.context.record.finished = true;
    if (reset) this.res.destroy();
    else {
      this.headers();
      this.res.end();
    }
    return true;
  }

  private async write(delta: Delta): Promise<void> {
    const events = [...(await this.beginning()), ...this.context.renderer.delta(delta)];
    if (this.context.checked.stream) await this.writer.write(events);
  }

  private async beginning(): Promise<string[]> {
    this.headers();
    if (this.begun) return [];
    this.begun = true;
    return this.context.renderer.start();
  }

  private async end(events: string[]): Promise<void> {
    await this.writer.write(events);
    await this.writer.flush();
    this.res.end();
  }

  /** Status and headers of a stream; an answer in one body sends them with it. */
  private headers(): void {
    if (this.res.headersSent || !this.context.checked.stream) return;
    this.context.record.status = 200;
    this.res.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      ...this.context.renderer.headers,
    });
    this.res.flushHeaders();
  }

  private usage(): TokenCounts {
    const { ops, usage } = this.reply;
    const deltas = ops.flatMap((op) => (op.op === 'delta' ? [op.delta] : []));
    const thinking = deltas.filter((delta) => 'reasoning_content' in delta).length;
    const output = usage?.output ?? deltas.length;
    const input = usage === undefined ? this.context.input : scripted(usage.input, this.context.input);
    return { input, output, reasoning: Math.min(thinking, output) };
  }
}

/** The tokens of a request as a script has them; what is cached of it stays, as far as it fits. */
function scripted(total: number, { cached, cacheWritten }: InputTokens): InputTokens {
  const fromCache = Math.min(cached, total);
  return { total, cached: fromCache, cacheWritten: Math.min(cacheWritten, total - fromCache) };
}

/** Sends an answer that is one JSON body, and stores its status in the record. */
export function sendHttpAnswer(
  res: ServerResponse,
  { status, headers = {}, body }: HttpAnswer,
  record?: LiveRecord,
): void {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  sendJson(res, status, body, record);
}
