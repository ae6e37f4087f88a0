/** The words around a tool's mention -> arguments, guided by the names and types that the tool's JSON Schema gives. */
import { toExpression, type ToolMention } from './offline-tools.ts';

interface Property {
  type?: unknown;
  enum?: unknown[];
  items?: unknown;
}

const conversion = /(-?\d+(?:\.\d+)?)\s*(?:degrees?\s+|°\s*)?([\p{L}µ²³/]+)\s+(?:to|in|into|as)\s+(?:degrees?\s+|°\s*)?([\p{L}µ²³/]+)/iu;
const quoted = /"([^"]+)"|“([^”]+)”|`([^`]+)`|(?<!\w)'([^']+)'(?!\w)/g;
const leadIn = /^(?:to\s+(?:run|do|find|get|search for|look up|look at|read|show|see|compute|calculate|convert|remember|say)\b|to\b|for\b|in\b|of\b|on\b|at\b|with\b|about\b|that\b|:|,|what(?:'s| is)\b|tell me\b|the\b)\s*/i;

/** Best effort: what cannot be found is left out, and the tool says what it misses. */
export function toArguments({ tool, rest }: ToolMention): Record<string, unknown> {
  const properties = Object.entries((tool.parameters['properties'] ?? {}) as Record<string, Property>);
  const required = Array.isArray(tool.parameters['required']) ? (tool.parameters['required'] as unknown[]) : [];
  const text = tidy(rest);
  const converted = conversion.exec(text);
  const numbers = [...text.matchAll(/(?<![\w.])-?\d+(?:\.\d+)?/g)].map((match) => Number(match[0]));
  const quotes = [...text.matchAll(quoted)].map((match) => match.slice(1).find(Boolean) ?? '');
  // Optional properties are left alone, unless nothing is required and the first one is what the text must be meant for.
  const wanted = properties.filter(([key], place) => required.includes(key) || (required.length === 0 && place === 0));
  const args: Record<string, unknown> = {};
  for (const [key, property] of wanted) {
    const value = toValue(key, property);
    if (value !== undefined && value !== '') args[key] = value;
  }
  return args;

  function toValue(key: string, property: Property): unknown {
    if (property.enum) return property.enum.find((option) => new RegExp(`\\b${String(option).replace(/\W/g, '\\W')}\\b`, 'i').test(text));
    if (property.type === 'number' || property.type === 'integer') return numbers.shift();
    if (property.type === 'boolean') return true;
    if (property.type === 'array') return /url/i.test(key) ? text.match(/https?:\/\/\S+/g) ?? [] : quotes.length > 0 ? quotes : text === '' ? [] : [text];
    if (property.type !== 'string' && property.type !== undefined) return undefined;
    if (converted && /from|source/i.test(key)) return converted[2];
    if (converted && /(^|_)to|target/i.test(key)) return converted[3];
    if (/^(ur[il]|link)/i.test(key)) return /https?:\/\/\S+/.exec(text)?.[0];
    if (/path|file|folder|dir/i.test(key)) return quotes.shift() ?? /\S*[/.]\S+/.exec(text)?.[0] ?? text;
    if (/expr|formula|equation/i.test(key)) return toExpression(text) ?? text;
    if (/city|location|place|town/i.test(key)) return toPlace(text);
    return quotes.shift() ?? text;
  }
}

/** What stands behind the last for, in or at; without one, the whole text. */
function toPlace(text: string): string {
  const place = /.*\b(?:for|in|at|of)\s+(.+)$/i.exec(text)?.[1] ?? text;
  return place.replace(/\s+(?:please|today|tonight|tomorrow|now|right now|this week)$/i, '').trim();
}

function tidy(rest: string): string {
  let text = rest.trim().replace(/[\s?!,;:]+$|(?<!\.)\.$/g, '').replace(/,?\s+please$/i, '');
  for (let shorter = text.replace(leadIn, ''); shorter !== text; shorter = text.replace(leadIn, '')) text = shorter;
  return text;
}
