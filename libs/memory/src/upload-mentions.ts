const THINGS = 'files?|documents?|images?|pictures?|photos?|pdfs?|spreadsheets?|attachments?|archives?|screenshots?';

/**
 * Sentences that tell of a file somebody brought into a thread. Files live with their thread: a memory of one would send
 * the agent looking for it elsewhere. Work on uploading as such ("builds an upload form") is no mention.
 */
const mentions: readonly RegExp[] = [
  new RegExp(`\\b(uploaded|uploading|attached|attaching)\\b[^.!?]{0,60}\\b(${THINGS})\\b`, 'iu'),
  new RegExp(`\\b(${THINGS})\\b[^.!?]{0,40}\\b(uploaded|attached)\\b`, 'iu'),
  /\buploaded\b[^.!?]{0,60}\.[a-z0-9]{2,5}\b/iu,
  /\/mnt\/user-data\//iu,
  /<\/?(uploaded_files|current_uploads)>/iu,
  /上传(了|的|过)?[^。！？]{0,20}(文件|文档|图片|附件|表格)/u,
  /(datei|dokument|bild|foto)[^.!?]{0,40}hochgeladen/iu,
];

export const mentionsUpload = (text: string): boolean => mentions.some((mention) => mention.test(text));

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });

/** The text without the sentences that mention an upload. */
export function withoutUploadMentions(text: string): string {
  if (!mentionsUpload(text)) return text;
  return Array.from(sentences.segment(text), ({ segment }) => segment)
    .filter((sentence) => !mentionsUpload(sentence))
    .join('')
    .trim();
}
