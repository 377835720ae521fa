const CONTROLS: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  e: '\u001b',
  E: '\u001b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};
const ESCAPE = /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))/gs;

/** Expands the text between `$'` and `'` as bash does. */
export function ansiText(quoted: string): string {
  return quoted.replace(ESCAPE, (...groups: (string | undefined)[]) => {
    const [, hex, short, long, octal, control, plain] = groups;
    const code = hex ?? short ?? long;
    if (code !== undefined) return character(Number.parseInt(code, 16));
    if (octal !== undefined) return character(Number.parseInt(octal, 8) & 0xff);
    if (control !== undefined) return character(control.charCodeAt(0) & 0x1f);
    return CONTROLS[plain ?? ''] ?? plain ?? '';
  });
}

const character = (code: number): string => (code > 0x10_ff_ff ? '\ufffd' : String.fromCodePoint(code));
