/** The text of an open file, for tools that show or change it. */
import type { OpenedFile } from './files.ts';

export const largestFile = 10 * 1024 * 1024;

/** Throws an Error with a text for the model when it is a folder, too large, or no UTF-8 text. Closes the handle. */
export async function readText({ handle, stats }: OpenedFile, name: string): Promise<string> {
  try {
    if (stats.isDirectory()) throw new Error(`${name} is a folder; list it with search_files {"target": "files", "path": ${JSON.stringify(name)}, "pattern": "*"}.`);
    if (stats.size > largestFile) throw new Error(`${name} has ${stats.size} bytes, more than the ${largestFile} that can be read; search in it with search_files or the terminal.`);
    const bytes = await handle.readFile();
    if (bytes.subarray(0, 8192).includes(0)) throw new Error(`${name} is a binary file.`);
    return decode(bytes, name);
  } finally {
    await handle.close();
  }
}

function decode(bytes: Buffer, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error(`${name} is not UTF-8 text.`);
  }
}
