/**
 * The platforms on which the person at the keyboard owns this machine and could do by hand what the tools do: there only
 * dangerous commands ask, and files outside the workspace may be read. Everywhere else a request came over a network, from
 * somebody who was merely let in. This is the one place that says which is which.
 */
export const ownerPlatforms: ReadonlySet<string> = new Set(['cli']);
