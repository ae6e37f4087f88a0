/** Turns through a program, one after another or many chats at once, with the CPU time that they took. */
import type { Program } from './program.ts';
import { quantile } from './report.ts';
import type { Scene } from './scene.ts';

export interface Subject {
  scene: Scene;
  program: Program;
}

/** Milliseconds, and turns a second. */
export interface Figures {
  p50: number;
  p95: number;
  cpuPerTurn: number;
  perSecond: number;
}

const text = 'What will the weather be like in Lisbon tomorrow afternoon?';

/** `turns` in all over `chats` conversations, one at a time. */
export function talkInTurn(subject: Subject, { chats, turns, firstChat = 1 }: { chats: number; turns: number; firstChat?: number }): Promise<Figures> {
  return measure(subject, async (turn) => {
    for (let n = 0; n < turns; n++) await turn(firstChat + (n % chats), text);
  });
}

/** `chats` conversations side by side with `turns` messages each; a person writes again when the last was answered. */
export function talkAtOnce(subject: Subject, { chats, turns, firstChat = 1 }: { chats: number; turns: number; firstChat?: number }): Promise<Figures> {
  return measure(subject, async (turn) => {
    const chat = async (id: number) => {
      for (let n = 0; n < turns; n++) await turn(id, text);
    };
    await Promise.all(Array.from({ length: chats }, (_, index) => chat(firstChat + index)));
  });
}

async function measure({ scene, program }: Subject, talk: (turn: (chat: number, text: string) => Promise<void>) => Promise<void>): Promise<Figures> {
  const latencies: number[] = [];
  const cpuBefore = program.cpuMs();
  const from = performance.now();
  await talk(async (chat, said) => void latencies.push(await scene.turn(chat, said)));
  const ms = performance.now() - from;
  const cpuMs = program.cpuMs() - cpuBefore;
  scene.forget();
  return { p50: quantile(latencies, 0.5), p95: quantile(latencies, 0.95), cpuPerTurn: cpuMs / latencies.length, perSecond: (latencies.length * 1000) / ms };
}

/** Runs a round for ours, then for the yardstick, and again, so that a noisy minute meets both. */
export async function inPairs<T>(ours: Subject, bare: Subject, rounds: number, round: (subject: Subject, number: number) => Promise<T>): Promise<{ ours: T[]; bare: T[] }> {
  const results: { ours: T[]; bare: T[] } = { ours: [], bare: [] };
  for (let number = 0; number < rounds; number++) {
    results.ours.push(await round(ours, number));
    results.bare.push(await round(bare, number));
  }
  return results;
}
