/** Two tools, a hook and a skill: everything that an ordinary plugin is made of. */
import type { PluginContext } from 'hermes-gateway';
import { calculate } from './calculate.ts';
import { convert } from './convert.ts';

export function register(ctx: PluginContext): void {
  ctx.registerTool({
    name: 'calculate',
    emoji: '🧮',
    parallel: true,
    idempotent: true,
    schema: {
      name: 'calculate',
      description: 'Evaluate an arithmetic expression exactly: + - * / % ^ (or **), parentheses, comparisons, constants (pi, e, tau, phi) and functions such as sqrt, log, sin, round, min, max, mean, factorial.',
      parameters: {
        type: 'object',
        properties: { expression: { type: 'string', description: 'For example 2**16 or sqrt(144) * pi' } },
        required: ['expression'],
        additionalProperties: false,
      },
    },
    handler: async ({ expression }) => JSON.stringify(await calculate(String(expression))),
  });
  ctx.registerTool({
    name: 'unit_convert',
    emoji: '📏',
    parallel: true,
    idempotent: true,
    schema: {
      name: 'unit_convert',
      description: 'Convert a value between units of length, mass, volume, area, speed, data, time or temperature.',
      parameters: {
        type: 'object',
        properties: {
          value: { type: 'number' },
          from_unit: { type: 'string', description: 'For example mile, kg, fahrenheit, GB' },
          to_unit: { type: 'string' },
        },
        required: ['value', 'from_unit', 'to_unit'],
        additionalProperties: false,
      },
    },
    handler: ({ value, from_unit: from, to_unit: to }) => JSON.stringify(convert(Number(value), String(from), String(to))),
  });
  ctx.registerHook('post_tool_call', ({ tool_name: tool, status, duration_ms: ms }) => {
    ctx.log.info(`calculator saw ${tool}: ${status} in ${Math.round(ms)} ms`);
  });
  ctx.registerSkill({ name: 'units', path: 'skills/units' });
}
