/**
 * `GET /metrics`: what has been counted since the start, and how things stand now, as Prometheus reads it.
 * Source: https://prometheus.io/docs/instrumenting/exposition_formats/.
 */
import type { AdapterStatus } from '../contract/adapter.ts';
import type { Usage } from '../contract/model.ts';

/** A turn that has ended. */
export interface TurnFacts {
  platform: string;
  status: 'answered' | 'failed' | 'aborted';
  seconds: number;
  usage: Usage;
}

export interface Now {
  runningTurns: number;
  /** Parts by their state. */
  outbox: Record<string, number>;
  adapters: Record<string, AdapterStatus>;
}

export interface Metrics {
  turn(facts: TurnFacts): void;
  text(now: Now): string;
}

/** Upper bounds, seconds. */
const buckets = [0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600];

export function createMetrics(startedAt: number): Metrics {
  const turns = new Map<string, number>();
  const durations = buckets.map(() => 0);
  const tokens = { input: 0, output: 0, cached: 0 };
  let count = 0;
  let seconds = 0;

  return {
    turn(facts) {
      const labels = toLabels({ platform: facts.platform, status: facts.status });
      turns.set(labels, (turns.get(labels) ?? 0) + 1);
      count += 1;
      seconds += facts.seconds;
      for (const [index, most] of buckets.entries()) if (facts.seconds <= most) durations[index] = (durations[index] ?? 0) + 1;
      for (const kind of ['input', 'output', 'cached'] as const) tokens[kind] += facts.usage[kind];
    },
    text({ runningTurns, outbox, adapters }) {
      const bounds = buckets.map((most, index): [string, number] => [toLabels({ le: String(most) }), durations[index] ?? 0]);
      return [
        family('hermes_turns_total', 'counter', 'turns that have ended', [...turns]),
        family('hermes_turns_running', 'gauge', 'turns that run now', [['', runningTurns]]),
        family('hermes_turn_duration_seconds', 'histogram', 'from the beginning of a turn to its commit', [...bounds, [toLabels({ le: '+Inf' }), count]], '_bucket'),
        `hermes_turn_duration_seconds_sum ${seconds}\nhermes_turn_duration_seconds_count ${count}\n`,
        family('hermes_model_tokens_total', 'counter', 'tokens as the providers counted them', Object.entries(tokens).map(([kind, n]) => [toLabels({ kind }), n])),
        family('hermes_outbox_parts', 'gauge', 'parts of replies that wait, are on their way, or were given up', Object.entries(outbox).map(([state, n]) => [toLabels({ state }), n])),
        family('hermes_adapter_up', 'gauge', '1 while the platform is connected', Object.entries(adapters).map(([platform, { state }]) => [toLabels({ platform }), state === 'up' ? 1 : 0])),
        family('process_start_time_seconds', 'gauge', 'start of the process, seconds since the epoch', [['', startedAt / 1000]]),
        family('process_resident_memory_bytes', 'gauge', 'resident memory', [['', process.memoryUsage.rss()]]),
      ].join('');
    },
  };
}

function family(name: string, type: string, help: string, samples: readonly (readonly [labels: string, value: number])[], suffix = ''): string {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples.map(([labels, value]) => `${name}${suffix}${labels} ${value}`), ''].join('\n');
}

function toLabels(labels: Record<string, string>): string {
  const escaped = (value: string) => value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
  return `{${Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`).join(',')}}`;
}
