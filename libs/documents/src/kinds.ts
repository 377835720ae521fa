/** Files that can be turned into Markdown. */
export type DocumentKind = 'pdf' | 'doc' | 'docx' | 'ppt' | 'pptx' | 'xls' | 'xlsx' | 'html' | 'csv';

/** A page of the web is HTML of which only the article counts: without menus, under its title, with absolute links. */
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

/** The kind that a file's name promises, or null when such files are not converted. */
export function documentKindOf(filename: string): DocumentKind | null {
  const dot = filename.lastIndexOf('.');
  return dot < 0 ? null : (kindByExtension.get(filename.slice(dot + 1).toLowerCase()) ?? null);
}
