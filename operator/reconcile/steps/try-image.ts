import type { Job } from '../../api/kubernetes-object.ts';
import { precheckJob, precheckName } from '../../resources/precheck-job.ts';
import { isReady } from '../../resources/pod-state.ts';
import { lookAgain, rejectionOf, stall } from '../pass.ts';
import type { Draft, Pass, StepEnd } from '../pass.ts';

const pollMs = 5000;

/**
 * An image is tried before a member that runs is ended for it: one that cannot be pulled, or is no server, interrupts nothing.
 * @param canReturn whether there is an image to stay with for good
 * @returns undefined when the member may restart with it
 */
export function tryImage(pass: Pass, draft: Draft, canReturn: boolean): StepEnd | undefined {
  const { seen, cluster, spec, wantedImage } = pass;
  // Where Jobs may not be read or made images are not tried.
  if (seen.jobs === undefined) return undefined;
  const name = precheckName(cluster, wantedImage);
  const job = seen.jobs.find(({ metadata }) => metadata.name === name);
  if (rejectionOf(pass, draft, `apply Job/${name}`) !== undefined) return undefined;
  draft.progress = { reason: 'Upgrading', message: `trying image ${wantedImage}` };
  if (job === undefined) {
    const node = seen.members.find(({ pod }) => isReady(pod))?.pod?.spec?.nodeName;
    return {
      action: {
        kind: 'apply',
        objects: [precheckJob(cluster, spec, { image: wantedImage, node })],
      },
    };
  }
  if (holds(job, 'Complete')) return undefined;
  const restMs =
    Date.parse(job.metadata.creationTimestamp ?? '') +
    spec.update.progressDeadlineSeconds * 1000 -
    pass.nowMs;
  if (!holds(job, 'Failed') && restMs > 0) {
    lookAgain(draft, Math.min(restMs, pollMs));
    return {};
  }
  if (canReturn) {
    draft.failedImage = wantedImage;
    lookAgain(draft, 0);
    return {};
  }
  const why = `Job ${name} did not end well`;
  stall(
    draft,
    'UpgradeFailed',
    `image ${wantedImage} does not start, the member keeps its own: ${why}`,
  );
  return {};
}

function holds({ status }: Job, type: string): boolean {
  return status?.conditions?.some((each) => each.type === type && each.status === 'True') ?? false;
}
