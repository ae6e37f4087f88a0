/**
 * Policy as two hooks: a text that goes with every message, and a gate in front of every tool call. The gate is registered with
 * failClosed: if it breaks, calls are refused rather than let through. A hook can only narrow, so nothing here can grant anything.
 */
import type { PluginContext } from 'hermes-gateway';

export function register(ctx: PluginContext): void {
  const policy = String(ctx.config.policy ?? '').trim();
  const tools = new Set(toTexts(ctx.config.blocked_tools));
  // A pattern that cannot be compiled stops the plugin here, where it is seen, and not in the middle of a turn.
  const patterns = toTexts(ctx.config.blocked_patterns).map((source) => new RegExp(source, 'i'));

  if (policy !== '') ctx.registerHook('pre_llm_call', () => ({ context: `House rules:\n${policy}` }));
  ctx.registerHook(
    'pre_tool_call',
    ({ tool_name: tool, args }) => {
      if (tools.has(tool)) return refuse(`the tool ${tool} is switched off here`);
      const pattern = patterns.find((candidate) => textsIn(args).some((text) => candidate.test(text)));
      return pattern ? refuse('the arguments match a pattern that is refused here') : undefined;
    },
    { failClosed: true },
  );

  function refuse(reason: string): { action: 'block'; message: string } {
    return { action: 'block', message: `Blocked by guardrails: ${reason}. Do not try to reach the same end in another way; tell the user.` };
  }
}

/** Every text in the arguments as it is, not as JSON, which would hide it behind escapes. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function toTexts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
