/** What passes between one HTTP request to a provider and the loop that decides whether another one follows. */
import type { ApiObserver, ModelFailure, ModelReply, ModelRequest, Usage } from '../contract/model.ts';

export type Answer = Pick<Extract<ModelReply, { ok: true }>, 'text' | 'toolCalls' | 'finish'>;

/** Why an attempt failed and what may be done about it. */
export interface Fault {
  failure: ModelFailure;
  /** For the log and the operator; at most 2 KiB, secrets removed. */
  detail: string;
  status?: number;
  /** Requests to this provider that are worth it, this one included. */
  tries: 1 | 2 | 3;
  /** Whether another provider may answer what this one did not. */
  fallback: boolean;
  /** Ms that the provider asked us to wait. */
  retryAfterMs?: number;
}

export type AttemptResult = ({ ok: true } & Answer & { usage: Usage }) | { ok: false; fault: Fault; usage: Usage };

export interface Attempt {
  request: ModelRequest;
  /** 1 for the first attempt of a call; counts through the fallbacks. */
  number: number;
  /** Ms within which the first token must come. */
  firstTokenMs: number;
  onText(delta: string): void;
  api: ApiObserver | undefined;
}

/** One provider of the chain. */
export interface Provider {
  /** `provider/name`. */
  readonly id: string;
  /** Providers with the same account share their quota. */
  readonly account: string;
  /** Never throws or rejects. */
  attempt(attempt: Attempt): Promise<AttemptResult>;
  /** Loads what the first call would load. Never rejects. */
  warm(): Promise<void>;
}

export const noUsage: Usage = { input: 0, output: 0, cached: 0, requests: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  return { input: a.input + b.input, output: a.output + b.output, cached: a.cached + b.cached, requests: a.requests + b.requests };
}

/** Thrown inside the room alone, from the depth of a stream to the attempt that reads it. */
export class FaultError extends Error {
  override readonly name = 'FaultError';
  constructor(readonly fault: Fault) {
    super(fault.detail);
  }
}
