/**
 * Files in an answer: a line `MEDIA:/absolute/path` asks to send that file. Only files of the workspace and of the home's cache go
 * out; a refusal stands in the text, where the person sees it. The bytes are copied when the answer is committed, so what is sent
 * is what was there, whatever becomes of the path.
 */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, extname, isAbsolute, join } from 'node:path';
import type { OutboundPart } from '../contract/message.ts';
import { toMessage } from '../contract/errors.ts';
import { cleanName } from '../lib/clean-name.ts';
import { openFiles, type OpenedFile } from '../tools/files.ts';

export type OutgoingFile = NonNullable<OutboundPart['media']>;

export interface OutgoingFiles {
  /** The text without its MEDIA lines (refused ones become a note), and the files. Never rejects. */
  take(text: string): Promise<{ text: string; files: OutgoingFile[] }>;
}

const maxBytes = 20 * 1024 * 1024;
const mediaLine = /^[ \t]*[`"']?MEDIA:[ \t]*[`"']?([^\s`"'].*?)[`"']?[ \t]*$/gm;

const types: Record<string, { mime: string; kind: OutgoingFile['kind'] }> = {
  '.png': { mime: 'image/png', kind: 'image' },
  '.jpg': { mime: 'image/jpeg', kind: 'image' },
  '.jpeg': { mime: 'image/jpeg', kind: 'image' },
  '.gif': { mime: 'image/gif', kind: 'image' },
  '.webp': { mime: 'image/webp', kind: 'image' },
  '.mp3': { mime: 'audio/mpeg', kind: 'audio' },
  '.m4a': { mime: 'audio/mp4', kind: 'audio' },
  '.wav': { mime: 'audio/wav', kind: 'audio' },
  '.ogg': { mime: 'audio/ogg', kind: 'voice' },
  '.mp4': { mime: 'video/mp4', kind: 'video' },
  '.webm': { mime: 'video/webm', kind: 'video' },
  '.pdf': { mime: 'application/pdf', kind: 'file' },
  '.txt': { mime: 'text/plain', kind: 'file' },
  '.md': { mime: 'text/markdown', kind: 'file' },
  '.csv': { mime: 'text/csv', kind: 'file' },
  '.json': { mime: 'application/json', kind: 'file' },
};

export function createOutgoingFiles({ home, workspace }: { home: string; workspace: string }): OutgoingFiles {
  const cache = join(home, 'cache', 'media');

  /** As on a platform that is not its owner's own machine: nothing outside the two folders, no secrets, no link that leads out. */
  const open = async (path: string): Promise<OpenedFile> => {
    if (!isAbsolute(path)) throw new Error('the path must be absolute');
    const inWorkspace = await openFiles({ home, workspace, env: {} }, '');
    try {
      return await inWorkspace.open(path);
    } catch (thrown) {
      const inCache = await openFiles({ home, workspace: join(home, 'cache'), env: {} }, '').catch(() => null);
      if (!inCache) throw thrown;
      return await inCache.open(path).catch(() => Promise.reject(thrown instanceof Error ? thrown : new Error(String(thrown))));
    }
  };

  const copy = async (path: string): Promise<OutgoingFile> => {
    const { handle, stats } = await open(path);
    try {
      if (!stats.isFile()) throw new Error('it is no file');
      if (stats.size > maxBytes) throw new Error('it is larger than 20 MB');
      const bytes = await handle.readFile();
      const extension = extname(path).toLowerCase();
      await mkdir(cache, { recursive: true, mode: 0o700 });
      const kept = join(cache, createHash('sha256').update(bytes).digest('hex') + (extension in types ? extension : ''));
      await writeFile(kept, bytes, { mode: 0o600 });
      return { path: kept, name: cleanName(basename(path)), ...(types[extension] ?? { mime: 'application/octet-stream', kind: 'file' }) };
    } finally {
      await handle.close();
    }
  };

  return {
    async take(text) {
      const asked = [...text.matchAll(mediaLine)].map(([line, path = '']) => ({ line, path }));
      if (asked.length === 0) return { text, files: [] };
      const files = new Map<string, OutgoingFile>();
      let rest = text;
      for (const { line, path } of asked) {
        const note = await copy(path).then(
          (file) => (files.set(file.path, file), ''),
          (thrown: unknown) => `(${basename(path)} was not sent: ${toMessage(thrown)})`,
        );
        rest = rest.replace(line, () => note);
      }
      return { text: rest.replace(/\n{3,}/g, '\n\n').trim(), files: [...files.values()] };
    },
  };
}
