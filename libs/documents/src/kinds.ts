/** Kinds of files that can be converted to Markdown. */
export type DocumentKind = 'pdf' | 'doc' | 'docx' | 'ppt' | 'pptx' | 'xls' | 'xlsx' | 'html' | 'csv';

/** A web page is HTML of which only the article is converted: without menus, with its title and absolute links. */
export type ConversionKind = DocumentKind | 'page';

const kindByExtension: ReadonlyMap<string, DocumentKind> = new Map([
  ['pdf', 'pdf'],
  ['doc', 'doc'],
  ['docx', 'docx'],
  ['ppt', 'ppt'],
  ['pptx', 'pptx'],
  ['xls', 'xls'],
  ['xlsx', 'xlsx'],
  ['html', 'html'],
  ['htm', 'html'],
  ['csv', 'csv'],
]);

/** The kind by a file's extension, or null when such files are not converted. */
export function documentKindOf(filename: string): DocumentKind | null {
  const dot = filename.lastIndexOf('.');
  return dot < 0 ? null : (kindByExtension.get(filename.slice(dot + 1).toLowerCase()) ?? null);
}
