/** Speech to text by any server that offers OpenAI's `POST /audio/transcriptions`. */
import type { Log } from '../contract/log.ts';

export interface TranscriptionConfig {
  base_url: string;
  model: string;
  api_key: string | null;
}

/** Resolves with the text, or null when none can be had; the reason is in the log. Never rejects. */
export type Transcribe = (bytes: Uint8Array, mime: string, signal: AbortSignal) => Promise<string | null>;

const timeoutMs = 120_000;
const extensions: Record<string, string> = { 'audio/ogg': 'ogg', 'audio/mpeg': 'mp3', 'audio/mp4': 'm4a', 'audio/wav': 'wav', 'audio/webm': 'webm' };

export function createTranscribe({ base_url, model, api_key }: TranscriptionConfig, log: Log): Transcribe {
  return async (bytes, mime, signal) => {
    const form = new FormData();
    form.set('model', model);
    form.set('file', new Blob([bytes as Uint8Array<ArrayBuffer>], { type: mime }), `voice.${extensions[mime] ?? 'ogg'}`);
    try {
      const response = await fetch(`${base_url.replace(/\/$/, '')}/audio/transcriptions`, {
        method: 'POST',
        body: form,
        headers: api_key ? { authorization: `Bearer ${api_key}` } : {},
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      const answer = (await response.json()) as { text?: unknown };
      if (response.ok && typeof answer.text === 'string') return answer.text.trim();
      log.warn('a voice message was not transcribed', { status: response.status });
    } catch (thrown) {
      log.warn('a voice message was not transcribed', { error: thrown instanceof Error ? thrown.message : String(thrown) });
    }
    return null;
  };
}
