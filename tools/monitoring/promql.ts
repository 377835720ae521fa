/** A series that an expression reads. */
export interface Selector {
  readonly metric: string;
  /** Labels that matchers name. */
  readonly labels: readonly string[];
  /** The function around it, such as `rate`; undefined: none. */
  readonly within: string | undefined;
  readonly isRange: boolean;
}

export interface Expression {
  readonly selectors: readonly Selector[];
  /** Labels of `by`, `without`, `on`, `ignoring`. */
  readonly groupings: readonly string[];
}

const FUNCTIONS: ReadonlySet<string> = new Set([
  ...['sum', 'max', 'min', 'avg', 'count', 'topk', 'bottomk', 'quantile'],
  ...['rate', 'increase', 'irate', 'delta', 'changes', 'resets', 'max_over_time', 'min_over_time', 'avg_over_time'],
  ...[
    'histogram_quantile',
    'clamp_min',
    'clamp_max',
    'absent',
    'vector',
    'label_replace',
    'time',
    'abs',
    'ceil',
    'floor',
  ],
]);
const LISTS: ReadonlySet<string> = new Set(['by', 'without', 'on', 'ignoring']);
const OPERATORS: ReadonlySet<string> = new Set(['and', 'or', 'unless', 'bool', 'offset']);

const TOKEN =
  /\s+|"(?:[^"\\]|\\.)*"|\$?[a-zA-Z_:][\w:]*|\d+(?:\.\d+)?(?:ms|[smhdwy])?|=~|!~|!=|==|<=|>=|[-+*/%^<>=(){}[\],]|./g;
const DURATION = /^(\d+(ms|[smhdwy])|\$__rate_interval|\$__interval|\$__range)$/;
const CLOSES: Readonly<Record<string, string>> = { ')': '(', '}': '{', ']': '[' };

/**
 * Reads an expression of PromQL as far as a check of names needs it.
 *
 * @throws {Error} for one with unbalanced brackets, an unknown function, a malformed matcher or range
 */
export function parsePromql(text: string): Expression {
  return new Reader(text).read();
}

class Reader {
  private readonly tokens: readonly string[];
  private at = 0;
  private readonly open: { readonly bracket: string; readonly callee: string | undefined }[] = [];
  private readonly selectors: Selector[] = [];
  private readonly groupings: string[] = [];

  constructor(private readonly text: string) {
    this.tokens = (text.match(TOKEN) ?? []).filter((token) => token.trim() !== '');
  }

  read(): Expression {
    let before = '';
    while (this.at < this.tokens.length) {
      const token = this.next();
      if (isName(token)) this.readName(token);
      else this.readBracket(token, before);
      before = token;
    }
    if (this.open.length > 0) throw this.fault('a bracket is not closed');
    return { selectors: this.selectors, groupings: this.groupings };
  }

  private readName(name: string): void {
    if (OPERATORS.has(name)) return;
    if (LISTS.has(name)) {
      this.groupings.push(...this.readList());
      return;
    }
    const follows = this.peek();
    if (FUNCTIONS.has(name) && (follows === '(' || LISTS.has(follows))) return;
    if (follows === '(') throw this.fault(`the function ${name} is not known`);
    this.readSelector(name);
  }

  private readSelector(metric: string): void {
    const labels = this.peek() === '{' ? this.readMatchers() : [];
    const isRange = this.peek() === '[';
    if (isRange) this.readRange();
    const within = this.open.findLast(({ callee }) => callee !== undefined)?.callee;
    this.selectors.push({ metric, labels, within, isRange });
  }

  private readMatchers(): string[] {
    this.expect('{');
    const labels: string[] = [];
    while (this.peek() !== '}') {
      const label = this.next();
      if (!isName(label)) throw this.fault(`${label || 'the end'} is no label`);
      if (!['=', '!=', '=~', '!~'].includes(this.next())) throw this.fault(`the label ${label} has no operator`);
      if (!this.next().startsWith('"')) throw this.fault(`the label ${label} has no text`);
      labels.push(label);
      if (this.peek() === ',') this.next();
    }
    this.expect('}');
    return labels;
  }

  private readRange(): void {
    this.expect('[');
    const duration = this.next();
    if (!DURATION.test(duration)) throw this.fault(`${duration} is no duration`);
    this.expect(']');
  }

  private readList(): string[] {
    this.expect('(');
    const labels: string[] = [];
    while (this.peek() !== ')') {
      const label = this.next();
      if (!isName(label)) throw this.fault(`${label || 'the end'} is no label`);
      labels.push(label);
      if (this.peek() === ',') this.next();
    }
    this.expect(')');
    return labels;
  }

  private readBracket(token: string, before: string): void {
    if (token === '(') this.open.push({ bracket: token, callee: FUNCTIONS.has(before) ? before : undefined });
    else if (token === '{' || token === '[') throw this.fault(`${token} follows no metric`);
    else if (token in CLOSES && this.open.pop()?.bracket !== CLOSES[token])
      throw this.fault(`${token} closes no bracket`);
    else if (/^[^\w"=!<>()+\-*/%^,.$]$/.test(token) && !(token in CLOSES)) throw this.fault(`${token} is not known`);
  }

  private peek(): string {
    return this.tokens[this.at] ?? '';
  }

  private next(): string {
    const token = this.peek();
    this.at += 1;
    return token;
  }

  private expect(token: string): void {
    const found = this.next();
    if (found !== token) throw this.fault(`${token} was expected and not ${found || 'the end'}`);
  }

  private fault(what: string): Error {
    return new Error(`${what}: ${this.text}`);
  }
}

const isName = (token: string): boolean => /^[a-zA-Z_:]/.test(token);
