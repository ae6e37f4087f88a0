/**
 * `${VAR}` in YAML. The braces would end a plain scalar inside `{...}` or `[...]`, so before the text is parsed they are
 * replaced by two private-use characters of the same length: `{token: ${BOT_TOKEN}}` can be written, and places stay true.
 */
const open = '\uE0F0';
const close = '\uE0F1';
const name = '[A-Za-z_][A-Za-z0-9_]*';
const written = new RegExp(`\\$\\{(${name})\\}`, 'g');
const hidden = new RegExp(`\\$${open}(${name})${close}`, 'g');

export function hideVariables(text: string): string {
  return text.replace(written, `$$${open}$1${close}`);
}

export function showVariables(text: string): string {
  return text.replace(hidden, '${$1}');
}

/** Puts in the values; a variable that is not set is an empty text. `names` are the variables that were met. */
export function fillVariables(text: string, env: Record<string, string | undefined>): { text: string; names: string[] } {
  const names: string[] = [];
  const filled = text.replace(hidden, (_, variable: string) => {
    names.push(variable);
    return env[variable] ?? '';
  });
  return { text: filled, names };
}
