const THINGS = 'files?|documents?|images?|pictures?|photos?|pdfs?|spreadsheets?|attachments?|archives?|screenshots?';

/**
 * Sentences about a file that was uploaded into a thread. Files exist only in their thread: a memory of one would make
 * the agent search for it in others. Statements about uploading as such ("builds an upload form") do not match.
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

/** Removes the sentences that mention an upload. */
export function stripUploadMentions(text: string): string {
  if (!mentionsUpload(text)) return text;
  return Array.from(sentences.segment(text), ({ segment }) => segment)
    .filter((sentence) => !mentionsUpload(sentence))
    .join('')
    .trim();
}
