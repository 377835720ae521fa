import type { DataDirectory } from '../text/virtual-path.js';

/**
 * The two parts of a thread's files, each with a tree of its own: `uploads` is written by people, `work` (workspace and outputs)
 * by commands. Going back to an earlier point of the conversation replaces `work` and leaves what people uploaded.
 */
export const FILE_PARTS = ['work', 'uploads'] as const;
export type FilePart = (typeof FILE_PARTS)[number];

export const filePartOf = (directory: DataDirectory): FilePart => (directory === 'uploads' ? 'uploads' : 'work');

/** Where the bytes of a file are: in an object of its own, or in one that it shares with other small files. */
export interface FileContent {
  /** Key of the object in the object store. */
  readonly object: string;
  /** Position of the first byte in that object. */
  readonly offset: number;
}

export interface FileNode {
  readonly kind: 'file';
  /** Permission bits without setuid, setgid and sticky. */
  readonly mode: number;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modifiedMs: number;
  /** Lower-case hexadecimal. */
  readonly sha256: string;
  readonly content: FileContent;
}

export interface DirectoryNode {
  readonly kind: 'directory';
  readonly mode: number;
}

export interface LinkNode {
  readonly kind: 'link';
  /** As it was made, each byte a character (latin1). */
  readonly target: string;
}

export type TreeNode = FileNode | DirectoryNode | LinkNode;

/**
 * Nodes by path. A path begins with the data directory, `workspace/src/main.c`, and holds each byte of a name as one character
 * (latin1), as names of files need not be UTF-8. Every parent directory has a node of its own.
 */
export type FileTree = ReadonlyMap<string, TreeNode>;
