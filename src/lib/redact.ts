/**
 * Removes secrets by value. Every secret that the configuration resolves is added once at start; logs, tool results and
 * error texts pass through `text`. A secret is found as it is and in the forms in which URLs and headers carry it.
 */
export interface Redactor {
  /** Values shorter than 6 characters are ignored: they would eat ordinary text. */
  add(secret: string | null | undefined): void;
  text(input: string): string;
}

const placeholder = '[redacted]';

export function createRedactor(): Redactor {
  const forms = new Set<string>();
  let pattern: RegExp | null = null;
  return {
    add(secret) {
      const value = secret?.trim();
      if (!value || value.length < 6) return;
      for (const form of [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1), Buffer.from(value).toString('base64')])
        forms.add(form);
      const longestFirst = [...forms].sort((a, b) => b.length - a.length);
      pattern = new RegExp(longestFirst.map((form) => form.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'g');
    },
    text: (input) => (pattern ? input.replace(pattern, placeholder) : input),
  };
}
