/** What `kubectl explain` says of the conditions of an object that runs once and ends. */
export const conditionDescriptions = {
  'status.conditions': 'Ready when it succeeded; Reconciling while it runs; Stalled when it failed',
  'status.conditions.type': 'Ready, Reconciling or Stalled',
  'status.conditions.status': 'True, False or Unknown',
  'status.conditions.reason': 'One word for machines',
  'status.conditions.message': 'A sentence for people',
  'status.conditions.lastTransitionTime': 'When its status changed',
  'status.conditions.observedGeneration': 'Generation that it speaks for',
} as const;
