/** What a person has dropped: files, and names of folders, which are not taken. */
export interface Dropped {
  readonly files: readonly File[];
  readonly folders: readonly string[];
}

/** The parts of a drop that are looked at, as a browser gives them. */
interface DroppedItems {
  readonly items: ArrayLike<Pick<DataTransferItem, 'kind' | 'webkitGetAsEntry' | 'getAsFile'>>;
}

/** Splits a drop into files and folders. It has to be called within the event, after which the browser forgets them. */
export function readDropped({ items }: DroppedItems): Dropped {
  const files: File[] = [];
  const folders: string[] = [];
  for (const item of Array.from(items)) {
    if (item.kind !== 'file') continue;
    const entry = item.webkitGetAsEntry();
    const file = item.getAsFile();
    if (entry?.isDirectory === true) folders.push(entry.name);
    else if (file !== null) files.push(file);
  }
  return { files, folders };
}
