/**
 * What SSH services say instead of the events of HTTP services, which the operations on files name: ID by ID, undefined for what SSH does
 * not tell. What is not here is the same for both.
 */
const counterparts: ReadonlyMap<number, number | undefined> = new Map<number, number | undefined>([
  [40004, 30043],
  [40007, 30019],
  [40010, 30029],
  [40011, 30030],
  [40012, 30023],
  [40013, 30024],
  [40014, 30021],
  [40017, 30068],
  [40018, undefined],
  [40021, 30043],
  [40022, 30042],
  [40026, 30032],
  [40027, 30033],
  [40030, 30030],
  [40035, 30044],
  [40039, 30067],
  [40040, 30041],
  [40055, 30026],
  [40056, 30027],
  [40062, undefined],
  [40063, undefined],
  [40065, 30026],
]);

/**
 * The ID of an event as a component tells it.
 *
 * @param id as HTTP services say it
 * @param componentType of the service that emits it
 * @returns undefined when it is not told
 */
export function eventIdFor(id: number, componentType: string): number | undefined {
  return componentType === 'ssh' && counterparts.has(id) ? counterparts.get(id) : id;
}
