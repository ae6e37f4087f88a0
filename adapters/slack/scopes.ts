/** What the app must be allowed to, and what is lost without it. docs/platforms/slack.md has the same list, held equal by a test. */
export const scopes: Record<string, string> = {
  'app_mentions:read': 'hearing mentions',
  'assistant:write': 'the status while an answer is made',
  'channels:history': 'hearing public channels',
  'chat:write': 'answering',
  commands: 'the slash command',
  'files:read': 'reading files',
  'files:write': 'sending files',
  'groups:history': 'hearing private channels',
  'im:history': 'hearing direct messages',
  'mpim:history': 'hearing group direct messages',
  'reactions:write': 'showing progress as a reaction',
  'users:read': 'people\'s names',
};

/** `granted` as Slack lists it with every answer; nothing is missing where it lists nothing. */
export function toMissingScopes(granted: readonly string[] | undefined): string[] {
  if (!granted || granted.length === 0) return [];
  return Object.entries(scopes).flatMap(([scope, purpose]) => (granted.includes(scope) ? [] : [`${scope} (${purpose})`]));
}
