/** UTF-16 units of the beginning and the end of a long message that are used. */
const HEAD_CHARS = 500;
const TAIL_CHARS = 500;
const OMITTED = ' [...] ';

/** Blocks about uploads, which clients and middlewares add to user messages. */
const uploadBlocks = /<(uploaded_files|current_uploads)>[\s\S]*?<\/\1>\s*/gi;

export const stripUploadBlocks = (text: string): string => text.replace(uploadBlocks, '').trim();

/** Shortens a long text to its beginning and end without splitting a surrogate pair. */
export function excerpt(text: string): string {
  if (text.length <= HEAD_CHARS + TAIL_CHARS) return text;
  const head = text.slice(0, HEAD_CHARS).replace(/[\ud800-\udbff]$/, '');
  const tail = text.slice(-TAIL_CHARS).replace(/^[\udc00-\udfff]/, '');
  return `${head}${OMITTED}${tail}`;
}

/** Small talk. "yes" and "no" are not listed, because they answer questions. */
const TRIVIAL: ReadonlySet<string> = new Set([
  ...['ok', 'okay', 'k', 'thanks', 'thank you', 'thank you very much', 'thanks a lot', 'many thanks', 'thx', 'ty'],
  ...['cool', 'great', 'nice', 'perfect', 'awesome', 'good', 'very good', 'well done', 'got it', 'i see', 'understood'],
  ...['hi', 'hello', 'hey', 'good morning', 'good evening', 'bye', 'goodbye', 'see you', 'continue', 'go on', 'next'],
  ...['ok thanks', 'okay thanks', 'ok thank you', 'great thanks', 'cool thanks', 'perfect thanks', 'test', 'ping'],
  ...['danke', 'danke schön', 'vielen dank', 'alles klar', 'gut', 'hallo', 'weiter', 'merci', 'gracias', 'vale'],
  ...['好', '好的', '谢谢', '多谢', '你好', '嗯', '继续', '明白了', '知道了', '再见'],
]);

/** Whether a message is empty or small talk; its answer is then irrelevant, too. */
export function isTrivial(text: string): boolean {
  const plain = text
    .toLowerCase()
    .replace(/[\p{P}\p{S}\p{Extended_Pictographic}\u{fe0f}]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return plain === '' || TRIVIAL.has(plain);
}

const corrections: readonly RegExp[] = [
  /^(no|nope|wrong|incorrect|not quite)\b[\s,.!:;-]/i,
  /\b(that('?s| is| was)|you('?re| are| were)) (not (right|correct|true)|wrong|incorrect|mistaken)\b/i,
  /\byou (misunderstood|got (it|that|me) wrong|made a mistake)\b/i,
  /\b(i (said|meant|told you)|as i said|i didn'?t (say|mean|ask))\b/i,
  /\b(actually|correction)\b[\s,:]/i,
  /\b(don'?t|do not|stop|never) (do|use|call|say|write|assume)\b.{0,60}\b(again|anymore|any more|instead)\b/i,
  /\b(falsch|stimmt nicht|nicht richtig|ich meinte)\b/i,
  /(不对|错了|不是这样|你弄错|我的意思是|我说的是)/,
];

/** Whether the user seems to correct the assistant; only a hint for the extracting model. */
export const isCorrection = (text: string): boolean => corrections.some((pattern) => pattern.test(text));
