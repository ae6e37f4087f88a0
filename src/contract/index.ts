/** The types that plugin and adapter authors import: `import type { PluginContext } from 'hermes-gateway'`. */
export type * from './adapter.ts';
export type * from './log.ts';
export type * from './message.ts';
export type * from './model.ts';
export type * from './plugin.ts';
export type * from './tool.ts';
export type * from './transcript.ts';
export type * from './turn.ts';
