import { InvalidRequestError } from '@caribou/contracts';
import type { ConversionKind } from '../kinds.js';
import { type CompoundFile, compoundFile, isCompoundFile } from '../legacy/compound-file.js';
import type { DocumentLimits } from '../limits.js';

/** The modern format of the same program, as a file's extension may be wrong. */
const modernOf: Readonly<Partial<Record<ConversionKind, ConversionKind>>> = { doc: 'docx', xls: 'xlsx', ppt: 'pptx' };
const officeKinds: readonly ConversionKind[] = ['doc', 'docx', 'xls', 'xlsx', 'ppt', 'pptx'];

const ZIP_SIGNATURE = Buffer.from('PK\u0003\u0004');

function kindOfStreams(file: CompoundFile): ConversionKind {
  // Office's own encryption puts a whole DOCX, XLSX or PPTX into a stream; rights management one for each format.
  if (file.has('EncryptedPackage') || file.has('EncryptedSummary'))
    throw new InvalidRequestError('the file is encrypted');
  if (file.has('WordDocument')) return 'doc';
  if (file.has('Workbook') || file.has('Book')) return 'xls';
  if (file.has('PowerPoint Document')) return 'ppt';
  throw new InvalidRequestError('the file holds no document of Word, Excel or PowerPoint');
}

/**
 * The kind of an Office file by its content instead of its extension; other kinds are returned unchanged.
 *
 * @throws InvalidRequestError when it is encrypted or contains no document
 * @throws TooLargeError for a container with too many entries
 * @throws Error for a container that is broken
 */
export function kindOfContent(file: Buffer, kind: ConversionKind, limits: DocumentLimits): ConversionKind {
  if (!officeKinds.includes(kind)) return kind;
  if (isCompoundFile(file)) return kindOfStreams(compoundFile(file, limits));
  const modern = modernOf[kind];
  if (modern === undefined) return kind;
  if (file.subarray(0, ZIP_SIGNATURE.length).equals(ZIP_SIGNATURE)) return modern;
  throw new Error('it is neither a compound file nor a zip file');
}
