/**
 * Results that are too long for the model. The whole text goes to a file under the home's cache, the model gets the two ends,
 * the size, and a handle with which it can page. The handle is random and is all that is needed to read: it names no path.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { cut, cutStart } from './result-text.ts';

const handlePattern = /^result_[0-9a-f]{32}$/;
const keptFiles = 200;
/** Characters written at once; a text of 100 MB must not become a buffer of 100 MB. */
const slice = 1024 * 1024;
const longestPage = 20_000;

export function isResultHandle(text: string): boolean {
  return handlePattern.test(text);
}

/** Writes the text and resolves with what the model gets instead of it: JSON of at most `limit` characters. */
export async function storeResult(home: string, text: string, limit: number): Promise<string> {
  const folder = join(home, 'cache', 'results');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const handle = `result_${randomBytes(16).toString('hex')}`;
  const file = await open(join(folder, handle), 'wx', 0o600);
  let bytes = 0;
  try {
    for (let rest = 0; rest < text.length; ) {
      const piece = cut(text.slice(rest), slice);
      bytes += (await file.write(piece)).bytesWritten;
      rest += piece.length;
    }
  } finally {
    await file.close();
  }
  await prune(folder);
  const note = `Too long to show whole. Read on with read_result {"handle": "${handle}", "offset": 0}; offsets count bytes.`;
  return toPreview(text, limit, { handle, size: bytes, note });
}

/** The two ends of a text as JSON of at most `limit` characters. Escapes can make JSON six times as long, hence the loop. */
export function toPreview(text: string, limit: number, more: Record<string, unknown>): string {
  for (let keep = limit; ; keep = Math.floor(keep * 0.8)) {
    const preview = JSON.stringify({ truncated: true, ...more, head: cut(text, Math.floor(keep * 0.6)), tail: cutStart(text, Math.floor(keep * 0.35)) });
    if (preview.length <= limit || keep === 0) return preview;
  }
}

/**
 * One page as JSON `{handle, size, offset, next_offset, content}`; `offset` and `limit` count bytes of UTF-8 and move to whole
 * characters, `next_offset` is null at the end. Null when there is no such result (any more).
 */
export async function readStoredResult(home: string, handle: string, offset = 0, limit = longestPage): Promise<string | null> {
  if (!isResultHandle(handle)) return null;
  const file = await open(join(home, 'cache', 'results', handle)).catch(() => null);
  if (!file) return null;
  try {
    const { size } = await file.stat();
    const start = Math.min(Math.max(0, Math.floor(offset)), size);
    const buffer = Buffer.alloc(Math.min(Math.max(4, Math.floor(limit)), longestPage, size - start));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
    const page = wholeCharacters(buffer.subarray(0, bytesRead), start + bytesRead >= size);
    const next = start + page.skipped + page.bytes.length;
    return JSON.stringify({ handle, size, offset: start + page.skipped, next_offset: next < size ? next : null, content: page.bytes.toString('utf8') });
  } finally {
    await file.close();
  }
}

/** Leaves out the halves of characters at both ends; at the end of the file nothing is left out behind. */
function wholeCharacters(bytes: Buffer, last: boolean): { bytes: Buffer; skipped: number } {
  let from = 0;
  while (from < bytes.length && isContinuation(bytes[from])) from++;
  let lead = bytes.length - 1;
  while (lead > from && isContinuation(bytes[lead])) lead--;
  const first = bytes[lead] ?? 0;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  const torn = !last && lead >= from && lead + length > bytes.length;
  return { bytes: bytes.subarray(from, torn ? lead : bytes.length), skipped: from };
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Keeps the newest files; they are a convenience of the running conversations, not an archive. */
async function prune(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter(isResultHandle);
  if (names.length <= keptFiles) return;
  const aged = await Promise.all(names.map(async (name) => ({ name, at: await stat(join(folder, name)).then((s) => s.mtimeMs, () => 0) })));
  aged.sort((a, b) => b.at - a.at);
  await Promise.all(aged.slice(keptFiles).map(({ name }) => unlink(join(folder, name)).catch(() => undefined)));
}
