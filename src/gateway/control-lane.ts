/**
 * Control commands (/stop, /approve ...) must not wait behind the turn they are about: they run in a lane of their own beside the
 * session's. It is a lane like any other, so a control command is durable and runs once, too.
 */
/** No platform's id holds a line break, so nobody can name a chat into being a control lane. */
const suffix = '\ncontrol';

export const controlLane = (lane: string) => lane + suffix;
export const isControlLane = (lane: string) => lane.endsWith(suffix);
/** The session's lane that a lane belongs to. */
export const ownLane = (lane: string) => (isControlLane(lane) ? lane.slice(0, -suffix.length) : lane);
