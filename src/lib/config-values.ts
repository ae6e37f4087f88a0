/**
 * Value schemas that the configuration and the adapters share, and the facts that a key can carry beside its type. The facts
 * lie in the schema's metadata, so that the loader treats every platform's keys by one rule and names none of them.
 */
import { z } from 'zod';

export interface KeyFacts {
  description: string;
  /** The value is never shown: not in errors, not by `hermes config show`. */
  secret?: true;
  /** Environment variable that gives the value when the file does not. */
  env?: string;
  /** Environment variable that wins over the file. */
  override?: string;
  /** The platform is off while this is empty; an object says with which other settings it matters, e.g. `{mode: 'socket'}`. */
  needed?: true | Record<string, string>;
}

const whiteSpaceInside = 'contains white space; copy it again';

/** A token without which a platform is off. Empty when there is none; white space around it is taken away. */
export function tokenText(facts: KeyFacts & { needed: true | Record<string, string> }) {
  return z
    .string()
    .nullable()
    .transform((text) => text?.trim() ?? '')
    .prefault(null)
    .meta({ ...facts, secret: true });
}

/** A key or password that may be absent: null then. */
export function secretOrNull(facts: KeyFacts) {
  return z
    .string()
    .nullable()
    .transform(trimmedOrNull)
    .refine((text) => !/\s/.test(text ?? ''), whiteSpaceInside)
    .prefault(null)
    .meta({ ...facts, secret: true });
}

/** A text that may be absent: null then, as is an empty one. */
export function textOrNull(facts: KeyFacts) {
  return z.string().nullable().transform(trimmedOrNull).prefault(null).meta({ ...facts });
}

/** An http or https address, or null. */
export function urlOrNull(facts: KeyFacts) {
  return z
    .string()
    .nullable()
    .transform(trimmedOrNull)
    .refine((text) => text === null || isHttpUrl(text), notUrl)
    .prefault(null)
    .meta({ ...facts });
}

/** An http or https address. */
export function url(standard: string, facts: KeyFacts) {
  return z.string().trim().refine(isHttpUrl, notUrl).default(standard).meta({ ...facts });
}

const notUrl = 'must be an address that begins with http:// or https://';

function isHttpUrl(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text);
}

function trimmedOrNull(text: string | null): string | null {
  return text?.trim() || null;
}
