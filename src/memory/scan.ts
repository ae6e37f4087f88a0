/**
 * Looks at text that would stand in every later system prompt. It refuses what a person cannot see and the common phrasings
 * of text that wants to give orders; it is a filter against accidents and known tricks, not a proof of harmlessness.
 */
const invisible = /[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/u;
/** Joiners are part of emoji and of some scripts; beside a plain Latin character or the edge they only hide something. */
const looseJoiner = /(^|[\x00-\x7f])[\u200c\u200d]|[\u200c\u200d]($|[\x00-\x7f])/;
const control = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/;

const orders: readonly RegExp[] = [
  /\b(ignore|disregard|forget|override)\b.{0,40}\b(previous|prior|above|earlier|all|your|system)\b.{0,40}\b(instructions?|prompts?|rules|guidelines|directions)\b/i,
  /\byou are (now|no longer)\b/i,
  /\b(system|developer) (prompt|message)\s*(:|override|is)/i,
  /\bdo not (tell|inform|mention|reveal).{0,20}\b(the )?(user|person|owner|anyone)\b/i,
  /\b(act|behave|respond) as (if|though) you (have|had) no (restrictions|rules|limits)\b/i,
  /<\/?\s*(system|assistant|im_start|im_end|tool_call)\b|<\|[a-z_]+\|>|\[\/?INST\]/i,
  /\b(curl|wget|fetch|nc)\b[^\n]*(\$\{?\w*(KEY|TOKEN|SECRET|PASS)|\.env\b|id_rsa|id_ed25519)/i,
  /\b(cat|read|send|upload|post|print)\b[^\n]{0,60}(\.env\b|\.ssh\/|\.netrc|\.aws\/credentials|authorized_keys)/i,
];

/** Why the text may not be kept, or null. */
export function refusalOf(text: string): string | null {
  if (invisible.test(text) || looseJoiner.test(text)) return 'it holds invisible characters';
  if (control.test(text)) return 'it holds control characters';
  if (orders.some((order) => order.test(text))) return 'it reads like instructions for the assistant or reaches for secrets; write plain facts';
  return null;
}
