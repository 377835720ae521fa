/** A generator of numbers from 0 to 1 that always gives the same ones. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** What a function of some program may look like: each use has other names, numbers and conditions. */
const SOURCE = `
  /** Reads the $N of $A $M, and waits until the $N before it has been written. */
  async $V$C($A: $C$M, limitMs = $0): Promise<readonly $C[]> {
    const $N = await this.$M.find({ $A: $A.id, status: '$W', limit: $0 });
    if ($N === undefined || $N.length > $0) {
      throw new RangeError(\`$A \${$A.id} has no $N: \${limitMs - $0} ms are left\`);
    }
    return $N.filter((entry) => entry.$M !== '$W' && entry.createdAt >= $0).map(($W) => to$C($W, $A));
  }

  private $V$M({ $A, $N = $0 }: $C$MOptions): void {
    for (const [$W, value] of Object.entries(this.$N)) {
      if (value.$M(new URL('/$N/$W', this.base)) > $0 || $A.has($W)) this.$M.delete($W);
      else this.logger.warn({ event: '$W.$N', count: $0 }, 'the $A $N was given up');
    }
  }
`;

const LOG = `2026-03-$D $D:$D:$D.$0 $L [$W-$D] $V$C $A=$H: $N of $M took $0 ms, $D left in the queue
2026-03-$D $D:$D:$D.$0 $L [http-$D] $R /api/$N/$H?$M=$0&page=$D -> $S in $0 ms ($0 bytes, agent "$W/$D.$D")
2026-03-$D $D:$D:$D.$0 $L [$A] cannot $V $N $H: $C refused ($M, attempt $D of $D), trying again in $0 ms
`;

const JSON_LINES = `    {
      "id": "$H",
      "$A": { "name": "$C $M", "email": "$A.$D@$N.example.org", "active": $B },
      "$N": [$0, $0, $D, $0],
      "total": $0.$D,
      "status": "$W",
      "updated_at": "2026-$D-$DT$D:$D:$DZ",
      "note": "$V the $N of $A before $M"
    },
`;

const words = {
  A: 'account|order|parcel|sensor|tenant|invoice|patient|route|vessel|ticket|grant|branch|device|contract'.split('|'),
  N: 'entries|samples|readings|lines|pages|balances|shards|receipts|records|offsets|labels|segments|prices'.split('|'),
  M: 'Ledger|Catalog|Harbor|Window|Snapshot|Policy|Region|Bundle|Cursor|Gateway|Archive|Roster|Quota'.split('|'),
  C: 'Delivery|Payment|Forecast|Transfer|Voyage|Booking|Backup|Shipment|Upload|Audit|Lease|Profile'.split('|'),
  V: 'collect|resolve|merge|publish|reject|measure|rotate|import|schedule|validate|reconcile|archive'.split('|'),
  W: 'pending|expired|worker|idle|primary|failed|draft|partial|blocked|stale|ready|remote|queued'.split('|'),
  L: 'INFO |INFO |DEBUG|WARN |ERROR'.split('|'),
  R: 'GET|GET|POST|PATCH|DELETE'.split('|'),
  S: '200|200|201|304|404|409|503'.split('|'),
  B: 'true|false'.split('|'),
};

type WordKind = keyof typeof words;

/** Ids of a text, which occur more than once as in logs and lists. */
const IDS = 6;

function fill(template: string, random: () => number, ids: readonly string[]): string {
  const below = (limit: number): number => Math.floor(random() * limit);
  return template.replace(/\$([A-Z0])/g, (_all, kind: string) => {
    if (kind === '0') return String(below(10 ** (2 + below(5))));
    if (kind === 'D') return String(below(60)).padStart(2, '0');
    const list = kind === 'H' ? ids : words[kind as WordKind];
    return list[below(list.length)] ?? '';
  });
}

const templates = [SOURCE, LOG, JSON_LINES];

/** The text of a tool's result: source code, lines of a log or JSON, in turn, and a different one for each number. */
export function resultText(number: number, bytes: number): string {
  const random = createRandom(number);
  const template = templates[number % templates.length] ?? SOURCE;
  const ids = Array.from({ length: IDS }, () => random().toString(16).slice(2, 10).padEnd(8, '0') + String(number));
  let text = '';
  while (text.length < bytes) text += fill(template, random, ids);
  return text.slice(0, bytes);
}
